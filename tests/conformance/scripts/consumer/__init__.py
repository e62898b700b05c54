"""The scripts of the consumer protocol (KIP-848), one module for each table of its facts."""
