package main

import "github.com/IBM/sarama"

// A message whose partition is free goes where sarama's default puts it, the others where they are told to go.
const free = -1

type partitioner struct{ usual sarama.Partitioner }

func newPartitioner(topic string) sarama.Partitioner {
	return &partitioner{sarama.NewHashPartitioner(topic)}
}

func (p *partitioner) Partition(message *sarama.ProducerMessage, partitions int32) (int32, error) {
	if message.Partition != free {
		return message.Partition, nil
	}
	return p.usual.Partition(message, partitions)
}

func (p *partitioner) RequiresConsistency() bool { return true }
