"""How many records a partition has at a time: the arithmetic that producers and the light cluster share."""

from groupsim.members.producer.traffic import Traffic, as_rate

__all__ = ["Traffic", "as_rate"]
