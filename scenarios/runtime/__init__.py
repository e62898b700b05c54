"""A running scenario: one loop, one cluster, its processes, and what steps do to them.

Where to read:

    runner          `run_scenario`: loop, cluster, timeline, trace, judgement
    stage           `Stage`: the running scenario, and what steps may do to it
    process         a process over all its lives; its supervisor
    member_process  a process with a consumer
    producers       the producers of a run
    broker_steps    what steps do to brokers
    topic_steps     what steps do to topics
    admin           requests of an administrator
    rollout         rolling restarts and scaling of a group
    broker_rollout  a rolling restart of the brokers
    autoscaling     a group's size by its lag or CPU
    no_op_steps     steps whose target does not run
    zookeeper       the ZooKeeper of old consumers
    interrupts      Ctrl-C between two parts of a trace
"""
