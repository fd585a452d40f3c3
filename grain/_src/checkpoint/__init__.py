"""Checkpoints: what is written, where, and how a changed pipeline is noticed."""
