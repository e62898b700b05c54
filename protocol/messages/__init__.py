"""Requests and responses as values, by subject, and the fields of each version.

Where to read:

    group                      JoinGroup and the other requests of groups; Request and Response
    consumer_group             the requests of consumer groups (KIP-848)
    data                       Produce, Fetch, ListOffsets, OffsetForLeaderEpoch
    transactions               the requests of transactional producers
    admin, operator, acl       requests of administrators: topics and settings; leaders, disks, producers; ACLs
    cluster                    brokers and controller; the cluster's metadata as a value
    zookeeper                  clients and a ZooKeeper (Kafka 0.8)
    versions, releases         the fields of a version, the versions of a broker, the version of a connection
    refusals, response_errors  the answer with an error only; the one error of a response
    sizes                      the bytes of a message on a link, without encoding it
"""
