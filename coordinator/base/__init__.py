"""Modules that every part of the coordinator needs.

Where to read:

    config, versions, defects   settings, differences of other releases, defects by Kafka's issue
    consumer_settings           settings of groups of the consumer protocol: lists, words, conflicts
    group_configs               the settings in force for one group, with its own in the place of the broker's
    records, serde              the records of the log, as values and as bytes
    consumer_records, consumer_serde    those of consumer groups
    group_kind, snapshot        the interface of every kind of group, and a group as a value
    operation, effects, timers  one operation of the core: its sender and clock, its outputs, deadlines by name
    purgatory                   requests and answers that wait for an append
    failures                    answers to errors that do not depend on a group's state
    expiry                      the rule by which offsets expire
    interfaces, placement       the interfaces that higher floors implement; the partition of a group
    topics                      the topics of a broker as a value, for benches
"""
