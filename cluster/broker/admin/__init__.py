"""What administrators ask of a broker: topics, partitions, settings, the cluster.

* `requests.AdminRequests`: any broker takes them; what it knows itself it answers, the rest goes to the controller.
* `forwarding.Forwarding`: one request to the controller at a time; the answer waits until this broker knows it.
* `effective.Settings`: the value of every setting, and which of its layers (topic, broker, default) it comes from.
* `cluster/config/setting_names.py`, `cluster/config/setting_values.py`: Kafka's settings, their types and bounds.
* `auto_creation.AutoCreation`: topics that are made because a client asked for them.
* `operators.OperatorRequests`: leaders, replicas, records, disks, producers.
"""
