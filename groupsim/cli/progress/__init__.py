"""Signs of life on stderr while a command takes long."""
