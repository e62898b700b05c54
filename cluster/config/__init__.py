"""What a cluster is made of, and its settings under Kafka's names: a module for each of its parts.

Where to read:

    cluster         `ClusterConfig`: all parts together
    controller      the controller, KRaft's and ZooKeeper's, by release
    replica         replication
    log             topics: names, defaults, ranges, synonyms
    transactions    the coordinator of transactions
    acl             the authorizer
    counted         counted logs, and how long coordinators take there
    loading_cost    how long a coordinator loads its partition
    group_settings  settings of groups
    setting_names   every setting of a 4.4.0 broker: type and default
    setting_texts   what DescribeConfigs says of each
    setting_values  which values are allowed
    inert_settings  settings that have no effect here
"""
