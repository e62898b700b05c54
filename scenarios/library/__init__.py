"""The library of scenarios: one YAML file each, with a sentence on what it shows and where it comes from."""
