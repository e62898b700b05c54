"""The controller: who is alive, who leads, where replicas lie, and what brokers are told of it."""
