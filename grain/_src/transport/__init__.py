"""How blocks of elements cross from a worker process to the training process."""
