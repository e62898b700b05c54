"""Logs of client libraries, one or more modules for each."""
