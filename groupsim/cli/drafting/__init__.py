"""Scenarios from a deployment's files: `groupsim init` and `groupsim diff --git`."""
