"""Where the simulated consumer does something else than the real one, and is left so; and what it cannot play.

Lines of Kafka's code are those of kafka-clients 4.4.0; of older releases the method is named alone.
"""

from __future__ import annotations

from collections.abc import Mapping

_LOOKS = (
    "when the first look of a long poll falls: each thread that starts, and each answer, may wake the other "
    "(AsyncKafkaConsumer.pollForFetches, line 1982, FetchBuffer.awaitWakeup, line 167); here a wait begins with poll"
)
_OFTEN = (
    "a Fetch that comes back wakes the thread by each of its partitions (FetchBuffer.addAll, line 103) and once more "
    "(AbstractFetch.removePendingFetchRequest, line 297): two looks or three, here two"
)
_AFTER = (
    "the positions are looked up in the event that was under way (ApplicationEventProcessor.process(AsyncPollEvent), "
    "line 756), one backoff after the coordinator was found, or beside the callback that throws; here in the next one"
)
_TWO_ERRORS = (
    "two errors between two looks are one exception (AsyncKafkaConsumer.processBackgroundEvents, line 2356); in the "
    "real one the second heartbeat came after the look"
)
_JITTER = "the third backoff is 800 ms ± 20 % (ExponentialBackoff.backoff, line 60), and ends beside a heartbeat here"
_SLOW_CLOSE = (
    "recorded on a busy machine: close waits for its join (AbstractMembershipManager.leaveGroup, line 613) for longer"
)
_OUTSIDE = (
    "callbacks run in the application's thread (AsyncKafkaConsumer.checkInflightPoll, line 1007), which calls "
    "subscribe (subscribeInternal, line 2239), unsubscribe (line 1934) and close afterwards; here they may come before"
)
_SNAPSHOT = (
    "what it closes with is what groupMetadata and groupAssignmentSnapshot had then "
    "(AsyncKafkaConsumer.runRebalanceCallbacksOnClose, line 1727), which the other thread writes: a race of the two"
)
_LOOK_UPS = (
    "which of the two threads wakes CoordinatorRequestManager.poll (lines 102 to 117) for a lost coordinator, and how "
    "often, is a race of the real one"
)
_AUTO = (
    "the interval goes on while a commit is in flight (CommitRequestManager.maybeAutoCommitAsync, line 299); the next "
    "one goes out in the poll event after the request timed out, here at once"
)
_TOGETHER = (
    "several requests wait for the same coordinator, and CommitRequestManager.poll (line 183) is asked before "
    "AbstractHeartbeatRequestManager.poll (line 165): the real one sends them in that order"
)
BEYOND_IT: Mapping[str, str] = {
    "a commit is under way when the member is fenced": "its application commits by a policy, not on demand",
    "the application is away for too long and commits then": "its application commits by a policy, not on demand",
    "the application asks for committed offsets": "its application has no such call",
}
"""Stories for which the simulated consumer does not have the means, and which."""

DIFFERS: Mapping[str, str] = {
    "a join is not authorized for a topic": _TWO_ERRORS,
    "a consumer closes before its join is answered": _SLOW_CLOSE,
    "an acknowledgement is not answered": _AFTER,
    "while a callback runs a heartbeat is not answered": _LOOK_UPS,
    "while a callback runs the application wants to close": _OUTSIDE,
    "while a callback runs the subscription is to change": _OUTSIDE,
    "a callback for assigned partitions throws and poll goes on": _AFTER,
    "an auto-commit is not answered": _AUTO,
    "committed offsets are not stable for longer": _JITTER,
    "committed offsets are not answered": _TOGETHER,
    "a consumer that unsubscribes and whose callback throws": _SNAPSHOT,
    "a consumer that unsubscribes while the coordinator is lost": _LOOK_UPS,
    "the application is away for too long and then closes": _SNAPSHOT,
    "the application is away for too long and then unsubscribes": _OUTSIDE,
    "the application is away for too long and the leave is not answered": _LOOK_UPS,
    "a partition is revoked in a long poll": _LOOKS,
    "a partition is revoked between long fetches in a long poll": _OFTEN,
    "a partition is added to none in a long poll": _LOOKS,
    "positions are committed before a revocation in a long poll": _LOOKS,
}
"""Stories in which it does something else, and why."""

_BUSY = "recorded on a busy machine, which shows in it; to be recorded again"
_WITH_THE_NEXT_POLL = (
    "positions are looked up when the next poll event is processed (4.2: ApplicationEventProcessor.process"
    "(AsyncPollEvent); before: CheckAndUpdatePositionsEvent), which is sometimes after the coordinator was lost"
)
_IN_ANOTHER_ORDER = (
    "the commit manager is asked before the heartbeat manager (RequestManagers.entries), so that a look-up that breaks "
    "the connection takes the acknowledgement with it"
)
_ERROR_AT_CLOSE = (
    "an error of the heartbeat that leaves is fatal (AbstractHeartbeatRequestManager.onErrorResponse, default): close "
    "and unsubscribe throw it (AsyncKafkaConsumer.processBackgroundEvents)"
)
_LOOKED_UP_LESS_OFTEN = (
    "unsubscribe stops the look-ups sooner (CoordinatorRequestManager.poll is asked until the consumer closes)"
)

_OF_BOTH: Mapping[str, str] = {
    "an acknowledgement finds no group": _SNAPSHOT,
    "while a callback runs the subscription is to change": _OUTSIDE,
    "committed offsets are lost with their connection": _IN_ANOTHER_ORDER,
}

OF_OLDER_JAVA: Mapping[str, Mapping[str, str]] = {
    "java-4.2": {
        **_OF_BOTH,
        "a heartbeat meets a server error": _SNAPSHOT,
        "an acknowledgement of an unknown member": _WITH_THE_NEXT_POLL,
        "an acknowledgement is lost with its connection": _WITH_THE_NEXT_POLL,
        "while a callback runs the application wants to close": _OUTSIDE,
        "an auto-commit of a fenced member": _BUSY,
        "committed offsets are not answered": _IN_ANOTHER_ORDER,
        "the application is away for too long and then unsubscribes": _OUTSIDE,
        "the application is away for too long and the leave is not answered": _LOOK_UPS,
        "positions are committed before a revocation in a long poll": _BUSY,
    },
    "java-4.0": {
        **_OF_BOTH,
        "an acknowledgement reaches no coordinator": _WITH_THE_NEXT_POLL,
        "a consumer that closes and its group is gone": _ERROR_AT_CLOSE,
        "a consumer that closes and meets a server error": _ERROR_AT_CLOSE,
        "a consumer that unsubscribes and its group is gone": _ERROR_AT_CLOSE,
        "a consumer that unsubscribes and meets a server error": _ERROR_AT_CLOSE,
        "a consumer that unsubscribes and whose callback throws": _SNAPSHOT,
        "a consumer that unsubscribes while the coordinator is lost": _LOOKED_UP_LESS_OFTEN,
        "the application is away for too long and is static": _BUSY,
        "the application is away while its group is gone": _SNAPSHOT,
    },
}
"""The same of older releases, whose pauses are not compared, by the profile that stands for each."""
