"""The command `groupsim`: what it parses, how it ends, and where it writes."""
