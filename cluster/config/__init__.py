"""The settings of a cluster under Kafka's names: a module for each part of the cluster.

Where to read:

    cluster         `ClusterConfig`: all parts together
    controller      the controller, with KRaft or with ZooKeeper, by release
    replica         replication
    log             topics: names, defaults, ranges, synonyms
    transactions    the transaction coordinator
    acl             the authorizer
    counted         counted logs, and the durations of their coordinators
    loading_cost    the duration of a coordinator's loading
    group_settings  settings of groups
    setting_names   every setting of a 4.4.0 broker: type and default
    setting_texts   the documentation that DescribeConfigs answers
    setting_values  the checks of values
    inert_settings  settings that have no effect here
"""
