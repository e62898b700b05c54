"""The language of scenario files: text with positions, values, names, and the model they make."""
