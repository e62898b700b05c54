package main

import "github.com/twmb/franz-go/pkg/kgo"

// A record whose partition is free goes where franz-go's default puts it, the others where they are told to go.
const free = -1

var usual = kgo.UniformBytesPartitioner(64<<10, true, true, nil)

type partitioner struct{}

func (partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	return &topicPartitioner{usual.ForTopic(topic).(kgo.TopicBackupPartitioner)}
}

type topicPartitioner struct{ kgo.TopicBackupPartitioner }

func (p *topicPartitioner) RequiresConsistency(record *kgo.Record) bool {
	return record.Partition != free || p.TopicBackupPartitioner.RequiresConsistency(record)
}

func (p *topicPartitioner) PartitionByBackup(record *kgo.Record, partitions int, backup kgo.TopicBackupIter) int {
	if record.Partition != free {
		return int(record.Partition)
	}
	return p.TopicBackupPartitioner.PartitionByBackup(record, partitions, backup)
}
