"""The consumer that scenarios, the pytest plugin and users hold, and its application's poll loop.

Where to read:

    consumer                               what one holds; it puts the parts of a process together
    poll_loop, rounds                      the application's thread as a task; what of it passes as events
    workers                                threads of the application that do not come back
    leaving                                unsubscribe, and the clean close
"""
