"""The program of the JAX processes is started by its test; it is not one."""

collect_ignore = ["jax_process.py"]
