"""Options and arguments of the commands, as typer annotations."""
