"""The tables that a sweep writes: columns, schemas, and the metrics over them."""
