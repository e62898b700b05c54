"""The consumer that scenarios, the pytest plugin and users hold, and its application's poll loop.

Where to read:

    consumer                               the public object; it puts the parts of a process together
    poll_events                            when a poll with a timeout looks at its work (Java since 4.3)
    poll_loop, rounds                      the application's thread as a task, and as events
    workers                                stuck worker threads of the application
    leave                                  unsubscribe, and the clean close
"""
