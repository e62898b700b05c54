"""What a scenario comes to before it runs: its cluster, its groups, its members and their properties."""
