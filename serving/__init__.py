"""The served cluster: brokers in real time behind sockets, with a control port for faults and queries.

    scenario ──▶ LiveStage (cluster, simulated processes, timeline) ──▶ listeners (`cluster.tcp`), a port per broker
                    ▲                        │
        steps, `active_faults`               └──▶ RecentEvents (the trace's last events, for slow readers too)
                    ▲                                  │
                    └──────── control port (`api`: HTTP and JSON, described by `openapi`) ◀──┘

Rules: everything runs on the one `RealTimeLoop`, so nothing here needs a lock; an action of the control port is a step
of a scenario file, read by the loader's own code; no request can end the run but `POST /stop`; a slow reader loses
events and gets the number of lost ones, and delays no other reader.
"""
