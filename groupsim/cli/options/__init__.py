"""Options of commands, as typer wants them."""
