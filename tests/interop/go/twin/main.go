// Consumers of franz-go, many in one process; their applications are those of `java/Twin.java`.
//
// The same lines of JSON, in both directions. An application polls for so long at a time; a command ends its poll.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type order struct {
	Do, Name     string
	Settings     map[string]string
	Topics       []string
	Regex        string
	Policy       string
	Stubborn     bool
	Ms           int `json:"ms"`
	CleanUpMs    int `json:"clean_up_ms"`
	SetUpMs      int `json:"set_up_ms"`
	PollMs       int `json:"poll_ms"`
	ErrorPauseMs int `json:"error_pause_ms"`
}

var out sync.Mutex

func say(name, said string) {
	out.Lock()
	defer out.Unlock()
	line, _ := json.Marshal(map[string]string{"name": name, "said": said})
	fmt.Println(string(line))
}

func named(topics map[string][]int32) string {
	var names []string
	for topic, partitions := range topics {
		for _, partition := range partitions {
			names = append(names, fmt.Sprintf(" %s-%d", topic, partition))
		}
	}
	sort.Strings(names)
	return strings.Join(names, "")
}

func millis(settings map[string]string, name string, otherwise time.Duration) time.Duration {
	if given, err := time.ParseDuration(settings[name] + "ms"); err == nil {
		return given
	}
	return otherwise
}

type application struct {
	start    order
	client   *kgo.Client
	commands chan order
	wake     chan struct{}
}

func (a *application) options() []kgo.Opt {
	own := a.start.Settings
	retry := millis(own, "retry.backoff.ms", 250*time.Millisecond)
	callback := func(kind string, ms int) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
			say(a.start.Name, kind+named(topics))
			time.Sleep(time.Duration(ms) * time.Millisecond)
		}
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(own["bootstrap.servers"], ",")...),
		kgo.ClientID(own["client.id"]),
		kgo.ConsumerGroup(own["group.id"]),
		kgo.ServerSideBalancer(),
		kgo.Balancers(kgo.StickyBalancer()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.RebalanceTimeout(millis(own, "max.poll.interval.ms", time.Minute)),
		kgo.FetchMaxWait(millis(own, "fetch.max.wait.ms", 50*time.Millisecond)),
		kgo.RetryBackoffFn(func(int) time.Duration { return retry }),
		kgo.OnPartitionsAssigned(callback("assigned", a.start.SetUpMs)),
		kgo.OnPartitionsRevoked(callback("revoked", a.start.CleanUpMs)),
		kgo.OnPartitionsLost(callback("lost", a.start.CleanUpMs)),
	}
	if own["enable.auto.commit"] == "true" {
		options = append(options, kgo.AutoCommitInterval(millis(own, "auto.commit.interval.ms", time.Second)))
	} else {
		options = append(options, kgo.DisableAutoCommit())
	}
	if own["group.instance.id"] != "" {
		options = append(options, kgo.InstanceID(own["group.instance.id"]))
	}
	if own["client.rack"] != "" {
		options = append(options, kgo.Rack(own["client.rack"]))
	}
	if a.start.Regex != "" {
		return append(options, kgo.ConsumeRegex(), kgo.ConsumeTopics(a.start.Regex))
	}
	return append(options, kgo.ConsumeTopics(a.start.Topics...))
}

func (a *application) live() {
	client, err := kgo.NewClient(a.options()...)
	if err != nil {
		say(a.start.Name, "error "+err.Error())
		return
	}
	a.client = client
	for {
		select {
		case command := <-a.commands:
			if a.carriesOut(command) {
				return
			}
			continue
		default:
		}
		if a.polls() && !a.start.Stubborn {
			a.close()
			return
		}
	}
}

// polls polls once; true after an error.
func (a *application) polls() bool {
	polling, stop := context.WithTimeout(context.Background(), time.Duration(a.start.PollMs)*time.Millisecond)
	go func() {
		select {
		case <-a.wake:
			stop()
		case <-polling.Done():
		}
	}()
	fetches := a.client.PollFetches(polling)
	stop()
	failed := false
	fetches.EachError(func(_ string, _ int32, err error) {
		if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			say(a.start.Name, "threw "+strings.Split(err.Error(), "\n")[0])
			failed = true
		}
	})
	if a.start.Policy == "sync-after-batch" && !fetches.Empty() {
		if err := a.client.CommitUncommittedOffsets(context.Background()); err != nil {
			say(a.start.Name, "threw "+err.Error())
			failed = true
		}
	}
	if failed && a.start.Stubborn {
		time.Sleep(time.Duration(a.start.ErrorPauseMs) * time.Millisecond)
	}
	return failed
}

func (a *application) carriesOut(command order) bool {
	switch command.Do {
	case "close":
		a.close()
	case "block":
		time.Sleep(time.Duration(command.Ms) * time.Millisecond)
	}
	return command.Do == "close" || command.Do == "end"
}

func (a *application) close() {
	a.client.Close()
	say(a.start.Name, "closed")
}

func main() {
	running := map[string]*application{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		var told order
		if err := json.Unmarshal(lines.Bytes(), &told); err != nil {
			say(told.Name, "error "+err.Error())
			continue
		}
		if told.Do == "start" {
			made := &application{start: told, commands: make(chan order, 16), wake: make(chan struct{}, 16)}
			running[told.Name] = made
			go made.live()
		} else if one, known := running[told.Name]; known {
			one.commands <- told
			select {
			case one.wake <- struct{}{}:
			default:
			}
		}
	}
}
