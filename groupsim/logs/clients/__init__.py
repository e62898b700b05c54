"""Logs of client libraries, a module or more for each."""
