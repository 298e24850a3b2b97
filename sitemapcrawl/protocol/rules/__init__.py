"""What raw entries are worth: records and errors, in tolerant and in strict mode."""
