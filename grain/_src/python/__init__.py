"""Private modules of the original library that other libraries import by name."""
