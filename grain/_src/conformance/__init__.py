"""Checks that anybody can run on what they write for a pipeline."""
