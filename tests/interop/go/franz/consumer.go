package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"groupsim/interop/line"
)

var balancers = map[string]kgo.GroupBalancer{
	"range":              kgo.RangeBalancer(),
	"roundrobin":         kgo.RoundRobinBalancer(),
	"sticky":             kgo.StickyBalancer(),
	"cooperative-sticky": kgo.CooperativeStickyBalancer(),
	"server:uniform":     kgo.StickyBalancer(), // the client's name of the brokers' uniform assignor
	"server:range":       kgo.RangeBalancer(),
}

// A rebalance waits until what was polled is reported (BlockRebalanceOnPoll), so that the callbacks know all of it.
type consumer struct {
	owned line.Owned
}

func consume(config line.Config) {
	member := &consumer{}
	client := client(config, member.options(config)...)
	line.Emit("ready", nil)
	polling, stop := context.WithCancel(context.Background())
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		member.poll(polling, client)
	}()
	line.Commands(func(command line.Command) error {
		if command.Do != "commit" {
			return line.Unknown(command)
		}
		positions, err := member.commit(context.Background(), client, member.owned.All())
		if err == nil {
			line.Emit("committed", line.Event{"positions": positions})
		}
		return err
	})
	stop()
	<-polled
	client.CloseAllowingRebalance()
}

func (c *consumer) options(config line.Config) []kgo.Opt {
	balancer, known := balancers[config.Assignor]
	if !known {
		line.Unsupported(config.Assignor)
	}
	options := []kgo.Opt{
		kgo.ConsumerGroup(config.Group),
		kgo.ConsumeTopics(config.Subscribed()...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.Balancers(balancer),
		kgo.SessionTimeout(config.Session()),
		kgo.HeartbeatInterval(config.Heartbeat()),
		kgo.RebalanceTimeout(config.Rebalance()),
		kgo.OnPartitionsAssigned(c.assigned),
		kgo.OnPartitionsRevoked(c.revoked),
		kgo.OnPartitionsLost(c.lost),
	}
	if strings.HasPrefix(config.Assignor, "server:") {
		if config.InstanceID != "" { // 1.22.2 leaves with epoch -2 and no instance id: INVALID_REQUEST
			line.Unsupported("static members with " + config.Assignor)
		}
		options = append(options, kgo.ServerSideBalancer())
	}
	if config.Pattern != "" {
		options = append(options, kgo.ConsumeRegex())
	}
	if config.InstanceID != "" {
		options = append(options, kgo.InstanceID(config.InstanceID))
	}
	if config.Isolation == "read_committed" {
		options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	return options
}

func (c *consumer) assigned(_ context.Context, _ *kgo.Client, added map[string][]int32) {
	c.owned.Add(line.Partitions(added))
}

func (c *consumer) revoked(ctx context.Context, client *kgo.Client, topics map[string][]int32) {
	partitions := line.Partitions(topics)
	if _, err := c.commit(ctx, client, partitions); err != nil {
		line.Failed("", fmt.Errorf("commit at a revocation: %w", err))
	}
	c.owned.Remove(partitions)
}

func (c *consumer) lost(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
	c.owned.Remove(line.Partitions(topics))
}

func (c *consumer) poll(ctx context.Context, client *kgo.Client) {
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(topic string, partition int32, err error) {
			if !errors.Is(err, context.Canceled) {
				line.Failed("", fmt.Errorf("fetch of %s-%d: %w", topic, partition, err))
			}
		})
		fetches.EachRecord(c.report)
		client.AllowRebalance()
	}
}

func (c *consumer) report(record *kgo.Record) {
	headers := []line.Header{}
	for _, header := range record.Headers {
		headers = append(headers, line.Header{Name: header.Key, Value: header.Value})
	}
	at := line.Position{Partition: line.Partition{Topic: record.Topic, Number: record.Partition}, Offset: record.Offset}
	c.owned.Consumed(at, line.Event{
		"key": record.Key, "value": record.Value, "headers": headers, "timestamp": record.Timestamp.UnixMilli(),
	})
}

func (c *consumer) commit(ctx context.Context, client *kgo.Client, of []line.Partition) ([]line.Position, error) {
	positions := c.owned.Positions(of)
	offsets := map[string]map[int32]kgo.EpochOffset{}
	for _, position := range positions {
		if offsets[position.Topic] == nil {
			offsets[position.Topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[position.Topic][position.Number] = kgo.EpochOffset{Epoch: -1, Offset: position.Offset}
	}
	var failed error
	client.CommitOffsetsSync(ctx, offsets, func(
		_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error,
	) {
		failed = err
		if err == nil {
			failed = refused(response)
		}
	})
	return positions, failed
}

func refused(response *kmsg.OffsetCommitResponse) error {
	for _, topic := range response.Topics {
		for _, partition := range topic.Partitions {
			if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
				return fmt.Errorf("%s-%d: %w", topic.Topic, partition.Partition, err)
			}
		}
	}
	return nil
}
