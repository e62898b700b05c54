"""The consumer group of KIP-848: its members, epochs, target assignment and the requests that it answers.

Where to read:

    heartbeat         begin here: the one request of a member, step by step
    member_update     what a changed member means for the epochs, the target and the member itself
    assignment        the target of a group, and the steps of its members towards it
    joining, leave    who sends a heartbeat: a member, a new one, a static one that comes back; who leaves
    request_checks    what a heartbeat must have before a group is looked for
    epoch_check       the member epoch of a heartbeat: accepted, or fenced
    fence, timers     the removal of members, and the timers that lead to it
    regex             subscriptions by regular expression
    hosted            classic members of the group: their requests and timers
    commit            who may commit and fetch offsets
    describe, snapshot  the group in answers to administrators, and as a value

    entry_points      the group with the methods that a partition calls
    state             the group as its records make it, with one `apply` for live and load, and the way back
    soft_state        what the group has besides its records
    changes           what one operation writes, with the events of the trace
    member            one member as a value: its epochs, its state, the partitions that it owns or has to revoke
    member_records    the records of one member
    group_records     those of a whole group: what creates and what deletes it
    refused           the refusal of a request, with Kafka's message
"""
