"""The strategies of a cluster with replicated logs: what its brokers are made of, where logs lie, and a feed."""
