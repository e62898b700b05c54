"""Logs of client libraries.

Where to read:

    library_choice                                     begin here: the log of a client profile
    known                                              what a client knows from events of other processes
    java, java_consumer_groups                         the Java consumer: classic, and group.protocol=consumer
    java_words, java_reasons                           its messages by version; its reasons for joining again
    librdkafka, librdkafka_member                      librdkafka; the coordinator, join state and partitions it logs
    librdkafka_rebalance, librdkafka_words             its lines of a rebalance; its messages
    libraries                                          any other library as data: layout, values, templates
    go, kafka_python, kafkajs, brod                    those libraries
"""
