"""Requests of the classic protocol to a consumer group.

Where to read:

    requests  SyncGroup, Heartbeat and LeaveGroup
"""
