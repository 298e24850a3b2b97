"""What is written in a document: bytes in, raw entries out. What the values are worth is next door, in ``rules``."""
