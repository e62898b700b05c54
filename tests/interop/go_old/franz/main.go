// franz-go's consumers, many in one process, of any release; the lines of JSON are those of ../../java/Twin.java.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type told struct {
	Do       string         `json:"do"`
	Name     string         `json:"name"`
	Topics   []string       `json:"topics"`
	Settings map[string]any `json:"settings"`
}

func (t told) ms(name string) time.Duration {
	value, _ := t.Settings[name].(float64)
	return time.Duration(value) * time.Millisecond
}

func (t told) text(name string) string {
	value, _ := t.Settings[name].(string)
	return value
}

var balancers = map[string]kgo.GroupBalancer{
	"range":              kgo.RangeBalancer(),
	"roundrobin":         kgo.RoundRobinBalancer(),
	"sticky":             kgo.StickyBalancer(),
	"cooperative-sticky": kgo.CooperativeStickyBalancer(),
}

var writing sync.Mutex

func say(name, said string) {
	line, _ := json.Marshal(map[string]string{"name": name, "said": said})
	writing.Lock()
	defer writing.Unlock()
	fmt.Println(string(line))
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var given told
		if err := json.Unmarshal(line, &given); err != nil {
			panic(err)
		}
		if given.Do == "start" {
			go start(given)
		}
	}
}

func start(given told) {
	tell := func(what string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, topics map[string][]int32) { say(given.Name, what+named(topics)) }
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(given.text("bootstrap.servers"), ",")...),
		kgo.ClientID(given.text("client.id")),
		kgo.ConsumerGroup(given.text("group.id")),
		kgo.ConsumeTopics(given.Topics...),
		kgo.Balancers(balancers[given.text("partition.assignment.strategy")]),
		kgo.DisableAutoCommit(),
		kgo.SessionTimeout(given.ms("session.timeout.ms")),
		kgo.HeartbeatInterval(given.ms("heartbeat.interval.ms")),
		kgo.OnPartitionsAssigned(tell("assigned")),
		kgo.OnPartitionsRevoked(tell("revoked")),
		kgo.OnPartitionsLost(tell("lost")),
	)
	if err != nil {
		say(given.Name, fmt.Sprint("error ", err))
		return
	}
	for {
		client.PollFetches(context.Background())
	}
}

func named(topics map[string][]int32) string {
	names := []string{}
	for topic, numbers := range topics {
		for _, number := range numbers {
			names = append(names, fmt.Sprintf(" %s-%d", topic, number))
		}
	}
	sort.Strings(names)
	return strings.Join(names, "")
}
