"""Where records come from: one format a file, all behind the same small protocol."""
