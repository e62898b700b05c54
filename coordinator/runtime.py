"""Which partitions of `__consumer_offsets` a broker leads, from election to resignation, and who leads a group's.

An election loads the partition, which takes time; a resignation gives it up. Both come with an epoch, and one that is
not newer is late and ignored. A log that moved behind a coordinator's back has it loaded anew; one that cannot be read
leaves the partition without a coordinator until the next election.

Source: `CoordinatorRuntime`; classic-protocol reference, 3.3.
"""

from __future__ import annotations

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.interfaces import LoadFailed, Log
from groupsim.coordinator.base.placement import partition_for
from groupsim.coordinator.partition_driver import Leadership
from groupsim.eventloop.interface import EventLoop, Host, Order

_REMEMBERED = 4_096  # groups whose leadership is at hand: clients may name as many as they like


class CoordinatorRuntime:
    """The partitions of one broker. `elect` and `resign` follow the partition leaders."""

    def __init__(self, loop: EventLoop, host: Host, config: CoordinatorConfig, log: Log) -> None:
        self.config = config
        self._loop = loop
        self._host = host
        self._log = log
        self._led: dict[int, Leadership] = {}
        self._epochs: dict[int, int] = {}
        self._by_group: dict[str, Leadership | None] = {}
        self._stopped = False

    def elect(self, partition: int, epoch: int, *, load_us: int = 0) -> None:
        """The broker now leads the partition: load it, which takes `load_us`. An epoch that is not newer is ignored."""
        if epoch <= self._epochs.get(partition, -1):
            return
        self._give_up(partition, epoch)
        self._begin(partition, epoch, load_us)

    def resign(self, partition: int, epoch: int) -> None:
        """Another broker leads the partition from `epoch` on: give it up. An epoch that is not newer is ignored."""
        if epoch > self._epochs.get(partition, -1):
            self._give_up(partition, epoch)

    def abandon(self, partition: int) -> None:
        """The partition is deleted: give it up; made again, its epochs begin anew."""
        led = self._forget(partition)
        if led is not None:
            led.unload()
        self._epochs.pop(partition, None)

    def stop(self) -> None:
        """Shut down in good order: give everything up; from now on COORDINATOR_NOT_AVAILABLE."""
        for partition in list(self._led):
            self._give_up(partition, self._epochs[partition])
        self._stopped = True

    def topic_deleted(self, name: str) -> None:
        """A topic is gone, and with it the offsets committed to it."""
        for led in self._led.values():
            if led.active:
                led.topic_deleted(name)

    @property
    def led(self) -> tuple[int, ...]:
        """The partitions this broker leads, loaded or not."""
        return tuple(self._led)

    def _begin(self, partition: int, epoch: int, load_us: int) -> None:
        led = Leadership(
            self._loop,
            self._host,
            self._log,
            self.config,
            partition,
            epoch,
            out_of_sync=self._out_of_sync,
        )
        led.load_us = load_us
        self._led[partition] = led
        if load_us > 0:
            led.load_handle = self._host.call_at(self._loop.now_us + load_us, self._loaded, led)
        else:
            self._loaded(led)

    def _loaded(self, led: Leadership) -> None:
        led.load_handle = None
        try:
            led.load()
        except LoadFailed as error:
            led.say(f"the load failed, and the partition has no coordinator until the next election: {error}")
            self._forget(led.partition)

    def _out_of_sync(self, led: Leadership, why: str) -> None:
        """The log has moved behind a coordinator's back: it is given up and loaded anew, once this turn is over."""
        led.say(f"out of sync with the log, will be reloaded: {why}")
        self._host.call_at(self._loop.now_us, self._reload, led, order=Order.APPEND)

    def _reload(self, led: Leadership) -> None:
        if self._led.get(led.partition) is led:
            self._give_up(led.partition, led.epoch)
            self._begin(led.partition, led.epoch, led.load_us)

    def _give_up(self, partition: int, epoch: int) -> None:
        self._epochs[partition] = epoch
        led = self._forget(partition)
        if led is not None:
            led.unload()

    def _forget(self, partition: int) -> Leadership | None:
        """Nobody leads the partition here any more: NOT_COORDINATOR."""
        self._by_group.clear()
        return self._led.pop(partition, None)

    def _leadership(self, group_id: str) -> Leadership | None:
        """Who leads the group's partition here; None when nobody does."""
        try:
            return self._by_group[group_id]
        except KeyError:
            if len(self._by_group) >= _REMEMBERED:
                self._by_group.clear()
            partition = partition_for(group_id, self.config.offsets_topic_num_partitions)
            led = self._by_group[group_id] = self._led.get(partition)
            return led

    # --- by an operator's hand -----------------------------------------------------------------------------------

    def group_ids(self) -> tuple[str, ...]:
        """The groups of every partition that is led and loaded here, committed or not."""
        return tuple(group.group_id for led in self._led.values() if led.active for group in led.shard.groups)

    def force_rebalance(self, group_id: str, words: str) -> bool:
        """Open a round of a group that is led here; False when it is not, is empty, or has one open already."""
        led = self._leadership(group_id)
        return led is not None and led.active and led.force_rebalance(group_id, words)

    def forget(self, group_id: str, words: str) -> bool:
        """Lose a group that is led here, with its offsets (see `Shard.forget`); False when there is none."""
        led = self._leadership(group_id)
        return led is not None and led.active and led.forget(group_id, words)
