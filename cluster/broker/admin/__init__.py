"""Requests of administrators to a broker: topics, partitions, settings, the cluster.

* `requests.AdminRequests`: every broker answers from its image, or forwards to the controller.
* `forwarding.Forwarding`: one request to the controller at a time; the answer waits for this broker's image.
* `effective.Settings`: the value of every setting, and the layer (topic, broker, default) that it comes from.
* `cluster/config/setting_names.py`, `cluster/config/setting_values.py`: Kafka's settings, their types and bounds.
* `auto_creation.AutoCreation`: creation of topics that clients request with Metadata.
* `operators.OperatorRequests`: leaders, replicas, records, disks, producers.
"""
