"""Side-by-side measurements of this library, the reference and other loaders, on the same work in one run."""
