"""How a pipeline runs: inline, on threads, in worker processes."""
