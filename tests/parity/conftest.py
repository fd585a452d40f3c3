"""What records the cases runs with the reference; it is not a test."""

collect_ignore_glob = ["case.py", "cases_*.py", "record.py"]
