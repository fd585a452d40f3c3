"""The demonstration: train on digits, be killed, resume, and show that nothing changed."""
