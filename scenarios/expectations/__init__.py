"""What a scenario says must hold, judged from the trace alone."""
