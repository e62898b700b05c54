"""Simulated producers: batches, acknowledgements, retries, partitioners, transactions."""
