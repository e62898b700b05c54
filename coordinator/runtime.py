"""The partitions of `__consumer_offsets` that a broker leads, from election to resignation.

An election loads the partition, which takes time; a resignation unloads it. Both have an epoch, and one that is not
newer is ignored. When the log has moved without its coordinator, the partition is loaded again. A partition that cannot
be read has no coordinator until the next election.

Source: `CoordinatorRuntime`; classic-protocol reference, 3.3.
"""

from __future__ import annotations

from collections.abc import Collection

from groupsim.coordinator.base.config import CoordinatorConfig
from groupsim.coordinator.base.interfaces import NO_SETTINGS, GroupSettings, LoadFailed, Log, TopicsImage
from groupsim.coordinator.base.placement import partition_for
from groupsim.coordinator.base.topics import NO_TOPICS
from groupsim.coordinator.partition_driver import PartitionDriver
from groupsim.eventloop.interface import EventLoop, Host, Order

_REMEMBERED = 4_096  # cached groups; clients may name any number of them


class CoordinatorRuntime:
    """The partitions of one broker. `elect` and `resign` follow the partition leaders."""

    def __init__(
        self, loop: EventLoop, host: Host, config: CoordinatorConfig, log: Log, topics: TopicsImage = NO_TOPICS
    ) -> None:
        self.config = config
        self._topics = topics
        self.settings: GroupSettings = NO_SETTINGS  #: the settings of groups, as the broker knows them
        self._loop = loop
        self._host = host
        self._log = log
        self._drivers: dict[int, PartitionDriver] = {}
        self._epochs: dict[int, int] = {}
        self._by_group: dict[str, PartitionDriver | None] = {}
        self._stopped = False

    def elect(self, partition: int, epoch: int, *, load_us: int = 0) -> None:
        """Load a partition that the broker now leads, which takes `load_us`. An epoch that is not newer is ignored."""
        if epoch <= self._epochs.get(partition, -1):
            return
        self._give_up(partition, epoch)
        self._begin(partition, epoch, load_us)

    def resign(self, partition: int, epoch: int) -> None:
        """Unload a partition that another broker leads from `epoch` on. An epoch that is not newer is ignored."""
        if epoch > self._epochs.get(partition, -1):
            self._give_up(partition, epoch)

    def abandon(self, partition: int) -> None:
        """Unload a deleted partition; when it is created again, its epochs start again."""
        driver = self._forget(partition)
        if driver is not None:
            driver.unload()
        self._epochs.pop(partition, None)

    def stop(self) -> None:
        """Shut down: unload every partition; from now on requests are answered COORDINATOR_NOT_AVAILABLE."""
        for partition in list(self._drivers):
            self._give_up(partition, self._epochs[partition])
        self._stopped = True

    def topic_deleted(self, name: str) -> None:
        """Delete the offsets of a deleted topic."""
        for driver in self._drivers.values():
            if driver.active:
                driver.topic_deleted(name)

    def metadata_changed(self, names: Collection[str]) -> None:
        """Report topics that were created, changed or deleted to the groups of every loaded partition."""
        for driver in self._drivers.values():
            if driver.active:
                driver.metadata_changed(names)

    @property
    def led_partitions(self) -> tuple[int, ...]:
        """The partitions this broker leads, loaded or not."""
        return tuple(self._drivers)

    def _begin(self, partition: int, epoch: int, load_us: int) -> None:
        driver = PartitionDriver(
            self._loop,
            self._host,
            self._log,
            self.config,
            partition,
            epoch,
            topics=self._topics,
            settings=self.settings,
            out_of_sync=self._out_of_sync,
        )
        driver.load_us = load_us
        self._drivers[partition] = driver
        if load_us > 0:
            driver.load_handle = self._host.call_at(self._loop.now_us + load_us, self._loaded, driver)
        else:
            self._loaded(driver)

    def _loaded(self, driver: PartitionDriver) -> None:
        driver.load_handle = None
        try:
            driver.load()
        except LoadFailed as error:
            driver.warn(f"the load failed, and the partition has no coordinator until the next election: {error}")
            self._forget(driver.partition)

    def _out_of_sync(self, driver: PartitionDriver, why: str) -> None:
        """Unload a partition whose log has moved, and load it again, once the present operation is over."""
        driver.warn(f"out of sync with the log, will be reloaded: {why}")
        self._host.call_at(self._loop.now_us, self._reload, driver, order=Order.APPEND)

    def _reload(self, driver: PartitionDriver) -> None:
        if self._drivers.get(driver.partition) is driver:
            self._give_up(driver.partition, driver.epoch)
            self._begin(driver.partition, driver.epoch, driver.load_us)

    def _give_up(self, partition: int, epoch: int) -> None:
        self._epochs[partition] = epoch
        driver = self._forget(partition)
        if driver is not None:
            driver.unload()

    def _forget(self, partition: int) -> PartitionDriver | None:
        """Stop leading the partition: requests are answered NOT_COORDINATOR."""
        self._by_group.clear()
        return self._drivers.pop(partition, None)

    def _driver_of(self, group_id: str) -> PartitionDriver | None:
        """Return the driver of the group's partition; None when this broker does not lead it."""
        try:
            return self._by_group[group_id]
        except KeyError:
            if len(self._by_group) >= _REMEMBERED:
                self._by_group.clear()
            partition = partition_for(group_id, self.config.offsets_topic_num_partitions)
            driver = self._by_group[group_id] = self._drivers.get(partition)
            return driver

    # --- actions of an operator --------------------------------------------------------------------------------------

    def group_ids(self) -> tuple[str, ...]:
        """Return the groups of every loaded partition, committed or not."""
        return tuple(
            group.group_id for driver in self._drivers.values() if driver.active for group in driver.shard.groups
        )

    def force_rebalance(self, group_id: str, reason: str) -> bool:
        """Open a round of a group; False when it is not led here, is Empty, or has an open round."""
        driver = self._driver_of(group_id)
        return driver is not None and driver.active and driver.force_rebalance(group_id, reason)

    def forget(self, group_id: str, reason: str) -> bool:
        """Lose a group with its offsets (see `Shard.forget`); False when there is none here."""
        driver = self._driver_of(group_id)
        return driver is not None and driver.active and driver.forget(group_id, reason)
