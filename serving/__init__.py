"""The served cluster: brokers in real time behind sockets, faults and questions behind a control port.

    scenario ──▶ LiveStage (cluster, simulated processes, timeline) ──▶ listeners (`cluster.tcp`), a port per broker
                    ▲                        │
        steps, faults (`steps`, `book`)      └──▶ Tail (the trace's last events, for slow readers too)
                    ▲                                  │
                    └──────── control port (`api`: HTTP and JSON, described by `openapi`) ◀──┘

Rules: everything runs on the one `RealTimeLoop`, so nothing here needs a lock; what the control port is asked to do is
a step of a scenario file, read by the loader's own code; nothing the port is told can end the run but `POST /stop`;
whoever reads slowly loses events and is told so, and nobody else waits.
"""
