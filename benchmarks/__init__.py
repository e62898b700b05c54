"""Benchmarks, each beside the best other way to do the same, measured in the same run."""
