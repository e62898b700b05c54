package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"groupsim/interop/line"
)

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

type producer struct {
	*kgo.Client
	transactionalID string
}

func produce(config line.Config) {
	producer := producer{client(config, producing(config)...), config.TransactionalID}
	if config.TransactionalID != "" {
		if _, _, err := producer.ProducerID(context.Background()); err != nil {
			line.Failed("", fmt.Errorf("init transactions: %w", err))
		}
	}
	line.Emit("ready", nil)
	line.Commands(producer.obey)
	producer.Close()
}

func producing(config line.Config) []kgo.Opt {
	codec, known := codecs[config.Codec]
	if !known {
		line.Unsupported(config.Codec)
	}
	options := []kgo.Opt{
		kgo.ProducerBatchCompression(codec),
		kgo.RecordPartitioner(partitioner{}),
	}
	if config.TransactionalID != "" {
		options = append(options, kgo.TransactionalID(config.TransactionalID))
	} else if !config.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	return options
}

func (p producer) obey(command line.Command) error {
	ctx := context.Background()
	switch command.Do {
	case "send":
		return p.send(ctx, command.Records)
	case "begin":
		return told("begun", p.BeginTransaction())
	case "commit":
		return told("committed", p.EndTransaction(ctx, kgo.TryCommit))
	case "abort":
		return told("aborted", p.EndTransaction(ctx, kgo.TryAbort))
	case "send_offsets":
		return told("offsets_sent", p.sendOffsets(ctx, command.Group, command.Positions))
	}
	return line.Unknown(command)
}

func told(event string, err error) error {
	if err == nil {
		line.Emit(event, nil)
	}
	return err
}

func (p producer) send(ctx context.Context, asked []line.Record) error {
	records := []*kgo.Record{}
	for _, one := range asked {
		records = append(records, record(one))
	}
	if err := p.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err
	}
	positions := []line.Position{}
	for _, sent := range records { // the client has filled in where they went
		at := line.Partition{Topic: sent.Topic, Number: sent.Partition}
		positions = append(positions, line.Position{Partition: at, Offset: sent.Offset})
	}
	line.Emit("sent", line.Event{"positions": positions})
	return nil
}

func record(asked line.Record) *kgo.Record {
	made := &kgo.Record{
		Topic: asked.Topic, Partition: free, Key: asked.Key, Value: asked.Value, Timestamp: asked.Time(),
	}
	if asked.Partition != nil {
		made.Partition = *asked.Partition
	}
	for _, header := range asked.Headers {
		made.Headers = append(made.Headers, kgo.RecordHeader{Key: header.Name, Value: header.Value})
	}
	return made
}

// franz-go sends offsets in a transaction only for its own GroupTransactSession; with the group's id alone it is done
// as any of its users would do it, with the two requests themselves, which the client brings to their coordinators.
func (p producer) sendOffsets(ctx context.Context, group string, positions []line.Position) error {
	id, epoch, err := p.ProducerID(ctx)
	if err != nil {
		return err
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = p.transactionalID, id, epoch, group
	added, err := add.RequestWith(ctx, p.Client)
	if err == nil {
		err = kerr.ErrorForCode(added.ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("AddOffsetsToTxn: %w", err)
	}
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group = p.transactionalID, id, epoch, group
	commit.Generation = -1
	for _, position := range positions {
		topic, err := p.offset(ctx, position)
		if err != nil {
			return err
		}
		commit.Topics = append(commit.Topics, topic)
	}
	committed, err := commit.RequestWith(ctx, p.Client)
	for err == nil && len(committed.Topics) > 0 {
		err = kerr.ErrorForCode(committed.Topics[0].Partitions[0].ErrorCode)
		committed.Topics = committed.Topics[1:]
	}
	return err
}

// From version 6 on the request has topics by id.
func (p producer) offset(ctx context.Context, position line.Position) (kmsg.TxnOffsetCommitRequestTopic, error) {
	partition := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	partition.Partition, partition.Offset = position.Number, position.Offset
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic, topic.Partitions = position.Topic, []kmsg.TxnOffsetCommitRequestTopicPartition{partition}
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = &position.Topic
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Topics = []kmsg.MetadataRequestTopic{asked}
	found, err := metadata.RequestWith(ctx, p.Client)
	if err == nil {
		topic.TopicID = found.Topics[0].TopicID
	}
	return topic, err
}
