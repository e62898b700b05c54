"""The assignors of the group coordinator, for groups of the consumer protocol (KIP-848): `uniform` and `range`.

The broker computes the target of every member; no member is a leader. An assignor here gets topic ids, the members'
subscriptions, and the present target.

Where to read:

    interface        begin here: what an assignor gets and returns
    range            contiguous ranges, computed from scratch
    uniform          the choice between the next two
    homogeneous      every member subscribes to the same topics
    topic_order      the order of topics in the record of a target
    partition_sets   the order of the partitions of a topic there
    heterogeneous    members subscribe to different topics; `balancer` chooses the members that give and get partitions
    rack_first       an example of a user's own
    registry         the assignors that a broker loads, by name or `module:Class`
"""
