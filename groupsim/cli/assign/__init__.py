"""`groupsim assign`: one assignor on the group of a document, without a simulation.

Where to read:

    command     the command and its output
    documents   the documents, checked key by key
    results     the results of all rounds
    on_server   a round under an assignor of the coordinator
"""
