"""Load files, texts and data as scenarios; write scenarios as JSON, and their JSON Schema."""
