"""Whether a scenario makes sense, before anything runs: each mistake with its place."""
