package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"groupsim/interop/line"
)

// The usual loop: poll a batch, process it for a while, commit what was polled; until the process is killed.
func batches(config line.Config) {
	client := client(config,
		kgo.ConsumerGroup(config.Group),
		kgo.ConsumeTopics(config.Topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.Balancers(balancers[config.Assignor]),
		kgo.SessionTimeout(config.Session()),
		kgo.HeartbeatInterval(config.Heartbeat()),
		kgo.RebalanceTimeout(config.Rebalance()),
	)
	for {
		if !client.PollRecords(context.Background(), config.MaxRecords).Empty() {
			time.Sleep(time.Duration(config.TakesMs) * time.Millisecond)
			if err := client.CommitUncommittedOffsets(context.Background()); err != nil {
				line.Failed("", err)
			}
		}
	}
}
