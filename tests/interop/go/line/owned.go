package line

import (
	"cmp"
	"slices"
	"sync"
)

// Owned is what a consumer has: its partitions, and for each the offset after the last record that it reported.
type Owned struct {
	mutex sync.Mutex
	next  map[Partition]int64
}

const unread = -1

// Add takes partitions over, and tells so.
func (o *Owned) Add(partitions []Partition) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.next == nil {
		o.next = map[Partition]int64{}
	}
	for _, partition := range partitions {
		o.next[partition] = unread
	}
	o.tell("assigned", partitions)
}

// Remove gives partitions back, and tells so.
func (o *Owned) Remove(partitions []Partition) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, partition := range partitions {
		delete(o.next, partition)
	}
	o.tell("revoked", partitions)
}

// Has says whether a partition is owned.
func (o *Owned) Has(partition Partition) bool {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	_, has := o.next[partition]
	return has
}

// All are the partitions that are owned, in order.
func (o *Owned) All() []Partition {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.sorted()
}

// Consumed reports a record and moves the position behind it.
func (o *Owned) Consumed(at Position, fields Event) {
	fields["topic"], fields["partition"], fields["offset"] = at.Topic, at.Number, at.Offset
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if _, has := o.next[at.Partition]; has {
		o.next[at.Partition] = at.Offset + 1
	}
	Emit("consumed", fields)
}

// Positions are the offsets to read next of those partitions from which anything was read.
func (o *Owned) Positions(partitions []Partition) []Position {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	found := []Position{}
	for _, partition := range partitions {
		if next, has := o.next[partition]; has && next != unread {
			found = append(found, Position{partition, next})
		}
	}
	return found
}

func (o *Owned) tell(event string, partitions []Partition) {
	slices.SortFunc(partitions, inOrder)
	Emit(event, Event{"partitions": partitions, "owned": o.sorted()})
}

func (o *Owned) sorted() []Partition {
	all := []Partition{}
	for partition := range o.next {
		all = append(all, partition)
	}
	slices.SortFunc(all, inOrder)
	return all
}

func inOrder(one, other Partition) int {
	return cmp.Or(cmp.Compare(one.Topic, other.Topic), cmp.Compare(one.Number, other.Number))
}

// Partitions are those of a map from topics to numbers, as both clients have it.
func Partitions(topics map[string][]int32) []Partition {
	all := []Partition{}
	for topic, numbers := range topics {
		for _, number := range numbers {
			all = append(all, Partition{topic, number})
		}
	}
	return all
}
