"""The simulated network: connections, latencies, and faults."""
