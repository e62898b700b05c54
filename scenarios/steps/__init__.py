"""What a step of the timeline can do: actions and faults as data."""
