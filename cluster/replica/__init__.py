"""A broker's replicas: leaders, followers, in-sync sets, high watermarks, and the fetches between brokers."""
