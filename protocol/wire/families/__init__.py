"""The families of messages: requests read into ours, and our answers written."""
