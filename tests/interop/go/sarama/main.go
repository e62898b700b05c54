// A member program on sarama: a consumer in a group, or a synchronous producer.
package main

import (
	"log"
	"os"

	"github.com/IBM/sarama"

	"groupsim/interop/line"
)

func main() {
	sarama.Logger = log.New(os.Stderr, "", log.Lmicroseconds)
	config := line.ReadConfig()
	settings := sarama.NewConfig()
	settings.ClientID = config.ClientID
	settings.Version = sarama.MaxVersion // its default, 2.8, would leave out what newer brokers are asked for
	if config.Role == "producer" {
		produce(config, settings)
	} else {
		consume(config, settings)
	}
	line.Emit("closed", nil)
}

func orEnd(err error) {
	if err != nil {
		line.Failed("", err)
		os.Exit(1)
	}
}
