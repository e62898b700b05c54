"""From files, texts and data to scenarios, and from scenarios to JSON and schema."""
