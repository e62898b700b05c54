"""What the logs of real brokers and clients say of an incident: `groupsim explain`.

`records.py` reads lines in any layout, `names.py` finds the group and the member of a line, `signs.py` is the table of
the messages that decide, `dialects.py` has the client libraries' names of settings, `incident.py` judges.
"""
