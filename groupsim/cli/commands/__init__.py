"""The work of each command, a module each."""
