"""What a pipeline is: one transformation a file, frozen and free of queues and threads."""
