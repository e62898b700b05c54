"""A running scenario: one loop, one cluster, its processes, and the steps of the timeline.

Where to read:

    runner          `run_scenario`: loop, cluster, timeline, trace, expectations
    stage           `Stage`: the running scenario, on which steps act
    process         a process over its restarts; its supervisor
    member_process  a process with a consumer
    producers       the producers of a run
    broker_steps    steps that act on brokers
    topic_steps     steps that act on topics
    admin           requests of an administrator
    rollout         rolling restarts and scaling of a group
    broker_rollout  a rolling restart of the brokers
    autoscaling     a group's size by its lag or CPU
    no_op_steps     steps without a target
    zookeeper       the ZooKeeper of old consumers
    interrupts      Ctrl-C between two parts of a trace
"""
