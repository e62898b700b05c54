"""The expectations of a scenario, judged from the trace alone."""
