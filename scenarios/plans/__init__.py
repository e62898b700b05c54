"""Resolve a scenario before it runs: its cluster, its groups, its members and their properties."""
