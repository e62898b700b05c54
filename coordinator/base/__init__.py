"""What every part of the coordinator needs.

Where to read:

    config, versions, defects   its settings, what coordinators of other releases do otherwise, bugs by Kafka's issue
    records, serde              what stands in the log, and as which bytes
    effects, timers             what the core says is to follow, and deadlines by name
    failures                    how each request is answered with an error that is not about its group's state
    interfaces, placement       what the coordinator needs from floors above; where a group belongs
"""
