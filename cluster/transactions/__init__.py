"""The transaction coordinator of a broker: states, log records, markers."""
