package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"groupsim/interop/line"
)

var strategies = map[string]func() sarama.BalanceStrategy{
	"range":              sarama.NewBalanceStrategyRange,
	"roundrobin":         sarama.NewBalanceStrategyRoundRobin,
	"sticky":             sarama.NewBalanceStrategySticky,
	"cooperative-sticky": sarama.NewBalanceStrategyCooperativeSticky,
}

const (
	attempts = 5
	pause    = 200 * time.Millisecond
)

func consume(config line.Config, settings *sarama.Config) {
	membership(config, settings)
	client, err := sarama.NewClient(config.Brokers(), settings)
	orEnd(err)
	group, err := sarama.NewConsumerGroupFromClient(config.Group, client)
	orEnd(err)
	admin, err := sarama.NewClusterAdminFromClient(client)
	orEnd(err)
	line.Emit("ready", nil)
	handler := &handler{group: config.Group, admin: admin}
	running, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		handler.run(running, group, config.Topics)
	}()
	line.Commands(func(command line.Command) error {
		if command.Do != "commit" {
			return line.Unknown(command)
		}
		positions, err := handler.commit()
		if err == nil {
			line.Emit("committed", line.Event{"positions": positions})
		}
		return err
	})
	stop()
	<-ended
	if err := errors.Join(group.Close(), client.Close()); err != nil {
		line.Failed("", err)
	}
}

func membership(config line.Config, settings *sarama.Config) {
	strategy, known := strategies[config.Assignor]
	if !known {
		line.Unsupported(config.Assignor)
	}
	settings.Consumer.Return.Errors = true
	settings.Consumer.Offsets.Initial = sarama.OffsetOldest
	settings.Consumer.Offsets.AutoCommit.Enable = false
	settings.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy()}
	settings.Consumer.Group.InstanceId = config.InstanceID
	settings.Consumer.Group.Session.Timeout = config.Session()
	settings.Consumer.Group.Heartbeat.Interval = config.Heartbeat()
	settings.Consumer.Group.Rebalance.Timeout = config.Rebalance()
	if config.RequestTimeoutMs > 0 {
		settings.Net.ReadTimeout = time.Duration(config.RequestTimeoutMs) * time.Millisecond
	}
	// Two of its defaults are for sessions longer than those of the cases. Requests to the coordinator wait behind
	// fetches, on the same connection; and a join that is to be tried again waits 2 s without a heartbeat.
	settings.Consumer.MaxWaitTime = config.Session() / 40
	settings.Consumer.Group.Rebalance.Retry.Backoff = config.Heartbeat()
	if config.Isolation == "read_committed" {
		settings.Consumer.IsolationLevel = sarama.ReadCommitted
	}
}

// What sarama's consumer group calls. With an eager strategy a session is one generation: Setup is the assignment,
// Cleanup the revocation, of everything. With a cooperative one the session goes on through rebalances, and single
// claims begin and end while it does.
type handler struct {
	group   string
	admin   sarama.ClusterAdmin
	owned   line.Owned
	mutex   sync.Mutex
	session sarama.ConsumerGroupSession
}

func (h *handler) run(ctx context.Context, group sarama.ConsumerGroup, topics []string) {
	go func() {
		for err := range group.Errors() {
			line.Failed("", err)
		}
	}()
	for ctx.Err() == nil {
		if err := group.Consume(ctx, topics, h); err != nil && !errors.Is(err, sarama.ErrClosedConsumerGroup) {
			line.Failed("", err)
		}
	}
}

func (h *handler) Setup(session sarama.ConsumerGroupSession) error {
	h.mutex.Lock()
	h.session = session
	h.mutex.Unlock()
	h.owned.Add(line.Partitions(session.Claims()))
	return nil
}

func (h *handler) Cleanup(session sarama.ConsumerGroupSession) error {
	h.commitBefore(session, h.owned.All())
	h.mutex.Lock()
	h.session = nil
	h.mutex.Unlock()
	h.owned.Remove(h.owned.All())
	return nil
}

func (h *handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	mine := line.Partition{Topic: claim.Topic(), Number: claim.Partition()}
	if !h.owned.Has(mine) {
		h.owned.Add([]line.Partition{mine})
	}
	for message := range claim.Messages() {
		h.report(mine, message)
	}
	if session.Context().Err() == nil { // this claim alone is taken away
		h.commitBefore(session, []line.Partition{mine})
		h.owned.Remove([]line.Partition{mine})
	}
	return nil
}

func (h *handler) report(from line.Partition, message *sarama.ConsumerMessage) {
	headers := []line.Header{}
	for _, header := range message.Headers {
		headers = append(headers, line.Header{Name: string(header.Key), Value: header.Value})
	}
	h.owned.Consumed(line.Position{Partition: from, Offset: message.Offset}, line.Event{
		"key": message.Key, "value": message.Value, "headers": headers, "timestamp": message.Timestamp.UnixMilli(),
	})
}

func (h *handler) commit() ([]line.Position, error) {
	h.mutex.Lock()
	session := h.session
	h.mutex.Unlock()
	if session == nil {
		return nil, errors.New("between two sessions: nothing is owned, nothing can be committed")
	}
	return h.commitOf(session, h.owned.All())
}

func (h *handler) commitBefore(session sarama.ConsumerGroupSession, partitions []line.Partition) {
	if _, err := h.commitOf(session, partitions); err != nil {
		line.Failed("", fmt.Errorf("commit at a revocation: %w", err))
	}
}

// Commit has no result, and says nothing when the coordinator has moved: sarama means to commit another time. So what
// is committed is asked for.
func (h *handler) commitOf(session sarama.ConsumerGroupSession, of []line.Partition) ([]line.Position, error) {
	positions := h.owned.Positions(of)
	for _, position := range positions {
		session.MarkOffset(position.Topic, position.Number, position.Offset, "")
	}
	for range attempts {
		session.Commit()
		if h.areCommitted(positions) {
			return positions, nil
		}
		time.Sleep(pause)
	}
	return nil, fmt.Errorf("not committed after %d attempts", attempts)
}

func (h *handler) areCommitted(positions []line.Position) bool {
	if len(positions) == 0 {
		return true
	}
	asked := map[string][]int32{}
	for _, position := range positions {
		asked[position.Topic] = append(asked[position.Topic], position.Number)
	}
	found, err := h.admin.ListConsumerGroupOffsets(h.group, asked)
	for _, position := range positions {
		if err != nil || found.GetBlock(position.Topic, position.Number).Offset != position.Offset {
			return false
		}
	}
	return true
}
