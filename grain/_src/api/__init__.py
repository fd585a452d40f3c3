"""The handles: what a user writes."""
