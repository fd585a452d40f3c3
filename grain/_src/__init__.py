"""The implementation; import the public names from `grain`."""
