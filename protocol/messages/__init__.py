"""Requests and responses as values, by what they are about, and what each version of them carries.

Where to read:

    group                      JoinGroup and the other requests of groups; Request and Response
    data                       Produce, Fetch, ListOffsets, OffsetForLeaderEpoch
    transactions               what transactional producers send
    admin, operator, acl       what administrators ask: topics and settings; leaders, disks, writers; who may do what
    cluster                    brokers and controller; the cluster's metadata as a value
    zookeeper                  clients and a ZooKeeper (Kafka 0.8)
    versions, releases         what a version carries, what a broker takes, what two sides agree on
    refusals, response_errors  the answer that is an error and nothing else; the one error of a response
    sizes                      how many bytes a message takes on a link, without encoding it
"""
