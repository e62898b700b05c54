"""Classic members of a consumer group: their requests, which the group answers in the terms of the classic protocol.

Where to read:

    join             begin here: JoinGroup, which changes the group as a heartbeat of the consumer protocol does
    sync, heartbeat  SyncGroup, which returns what the member owns; Heartbeat, which asks it to join again
    leave            LeaveGroup, which removes members of both protocols
    senders          the member that sends a SyncGroup or a Heartbeat
    classic_timers   the session of a classic member, and the time that it has to join and to sync
    embedded         the assignment of a classic member in Kafka's bytes

Such a member has what every member of the group has: an epoch, a target, a state (`member.py`). Its generation is its
member epoch, and it has no leader: the group computes the target. No request of it is parked. A cooperative member
joins twice when it has to give partitions up: the first time it is answered what it keeps, and the second time it says
that it has no more than that. An eager one has given all up before it joins.
"""
