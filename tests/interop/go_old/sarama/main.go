// sarama's consumer groups, many in one process, of any release; the lines of JSON are those of ../../java/Twin.java.
// An application takes its partitions over, and needs clean_up_ms to give them up.
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

	"github.com/Shopify/sarama"
)

type told struct {
	Do       string         `json:"do"`
	Name     string         `json:"name"`
	Topics   []string       `json:"topics"`
	Settings map[string]any `json:"settings"`
	CleanUp  int            `json:"clean_up_ms"`
}

func (t told) ms(name string) time.Duration {
	value, _ := t.Settings[name].(float64)
	return time.Duration(value) * time.Millisecond
}

func (t told) text(name string) string {
	value, _ := t.Settings[name].(string)
	return value
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
	settings := sarama.NewConfig()
	settings.ClientID = given.text("client.id")
	settings.Version = sarama.V2_0_0_0
	settings.Consumer.Return.Errors = true
	settings.Consumer.Offsets.Initial = sarama.OffsetOldest
	settings.Consumer.MaxWaitTime = 50 * time.Millisecond // heartbeats wait behind fetches, on the same connection
	settings.Consumer.Group.Session.Timeout = given.ms("session.timeout.ms")
	settings.Consumer.Group.Heartbeat.Interval = given.ms("heartbeat.interval.ms")
	settings.Consumer.Group.Rebalance.Retry.Backoff = given.ms("retry.backoff.ms")
	if age := given.ms("metadata.max.age.ms"); age > 0 {
		settings.Metadata.RefreshFrequency = age
	}
	group, err := sarama.NewConsumerGroup(
		strings.Split(given.text("bootstrap.servers"), ","), given.text("group.id"), settings,
	)
	if err != nil {
		say(given.Name, fmt.Sprint("error ", err))
		return
	}
	go func() {
		for range group.Errors() {
		}
	}()
	for {
		if err := group.Consume(context.Background(), given.Topics, application{given}); err != nil {
			say(given.Name, fmt.Sprint("threw ", err))
		}
	}
}

type application struct{ given told }

func (a application) Setup(session sarama.ConsumerGroupSession) error {
	a.tell("assigned", session)
	return nil
}

func (a application) Cleanup(session sarama.ConsumerGroupSession) error {
	a.tell("revoked", session)
	time.Sleep(time.Duration(a.given.CleanUp) * time.Millisecond)
	return nil
}

func (a application) ConsumeClaim(_ sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for range claim.Messages() {
	}
	return nil
}

func (a application) tell(what string, session sarama.ConsumerGroupSession) {
	names := []string{}
	for topic, numbers := range session.Claims() {
		for _, number := range numbers {
			names = append(names, fmt.Sprintf("%s-%d", topic, number))
		}
	}
	sort.Strings(names)
	say(a.given.Name, strings.Join(append([]string{what}, names...), " "))
}
