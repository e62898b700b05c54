"""The families of messages: their requests decoded into ours, and our answers encoded."""
