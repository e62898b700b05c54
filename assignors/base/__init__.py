"""The modules that every assignor uses.

Where to read:

    interface       the interface of an assignor
    steps           the steps of an assignment, for explanations
    errors          errors of assignors
    error_location  the place of an error in a user's code
    loading         the object of `module:Class`
    common, racks   what the built-in ones share
"""
