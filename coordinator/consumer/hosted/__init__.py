"""Classic members of a consumer group: their requests, which the group answers in the terms of the classic protocol.

Where to read:

    requests        SyncGroup, Heartbeat and LeaveGroup
    classic_timers  the session of a classic member, and the time that it has to join and to sync
    embedded        the assignment of a classic member in Kafka's bytes

Such a member has what every member of the group has: an epoch, a target, a state (`member.py`). Its generation is its
member epoch, and it has no leader: the group computes the target. No request of it is parked.
"""
