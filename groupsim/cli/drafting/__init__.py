"""Scenarios from what a deployment has: `groupsim init`, and what a change of it costs."""
