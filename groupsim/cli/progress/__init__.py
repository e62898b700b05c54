"""The progress of long commands, on stderr."""
