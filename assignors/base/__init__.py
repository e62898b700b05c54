"""The modules that every assignor uses.

Where to read:

    interface      the interface of an assignor
    steps          the steps of an assignment, for explanations
    errors         errors of assignors
    common, racks  what the built-in ones share
"""
