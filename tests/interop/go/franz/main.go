// A member program on franz-go: a consumer in a group, one that commits after each batch, or a producer.
package main

import (
	"os"

	"github.com/twmb/franz-go/pkg/kgo"

	"groupsim/interop/line"
)

func main() {
	config := line.ReadConfig()
	switch config.Role {
	case "producer":
		produce(config)
	case "batches":
		batches(config)
	default:
		consume(config)
	}
	line.Emit("closed", nil)
}

func client(config line.Config, options ...kgo.Opt) *kgo.Client {
	options = append(options, kgo.SeedBrokers(config.Brokers()...), kgo.ClientID(config.ClientID))
	client, err := kgo.NewClient(options...)
	if err != nil {
		line.Failed("", err)
		os.Exit(1)
	}
	return client
}
