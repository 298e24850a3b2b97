"""Commands of the project; each file is named after its command."""
