"""Validate a scenario before it runs: each mistake with its place."""
