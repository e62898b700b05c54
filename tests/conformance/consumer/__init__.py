"""What scripts of the consumer protocol (KIP-848) are written with: members, settings, records, and the switch."""
