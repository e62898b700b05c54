// Package line is the line protocol of the suite (../../README.md), for member programs in Go: the configuration is the
// one argument, commands come in on standard input, events go out on standard output, all of them JSON objects.
package line

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Config says who the member is and what it shall be.
type Config struct {
	Role               string   `json:"role"`
	Bootstrap          string   `json:"bootstrap"`
	ClientID           string   `json:"client_id"`
	Group              string   `json:"group"`
	Topics             []string `json:"topics"`
	Pattern            string   `json:"pattern"`
	Assignor           string   `json:"assignor"`
	InstanceID         string   `json:"instance_id"`
	SessionTimeoutMs   int      `json:"session_timeout_ms"`
	HeartbeatMs        int      `json:"heartbeat_interval_ms"`
	RebalanceTimeoutMs int      `json:"rebalance_timeout_ms"`
	RequestTimeoutMs   int      `json:"request_timeout_ms"`
	MaxRecords         int      `json:"max_records"`
	TakesMs            int      `json:"takes_ms"`
	Isolation          string   `json:"isolation"`
	Codec              string   `json:"codec"`
	Idempotent         bool     `json:"idempotent"`
	TransactionalID    string   `json:"transactional_id"`
}

// Brokers are the addresses to begin with.
func (c Config) Brokers() []string { return strings.Split(c.Bootstrap, ",") }

// Subscribed are the topics, or the regular expression in their place.
func (c Config) Subscribed() []string {
	if c.Pattern != "" {
		return []string{c.Pattern}
	}
	return c.Topics
}

// Session, heartbeat interval and rebalance timeout, as Go has durations.
func (c Config) Session() time.Duration   { return ms(c.SessionTimeoutMs) }
func (c Config) Heartbeat() time.Duration { return ms(c.HeartbeatMs) }
func (c Config) Rebalance() time.Duration { return ms(c.RebalanceTimeoutMs) }

func ms(milliseconds int) time.Duration { return time.Duration(milliseconds) * time.Millisecond }

// ReadConfig takes the argument; without a readable one the process ends.
func ReadConfig() Config {
	config := Config{
		Assignor: "range", SessionTimeoutMs: 6_000, HeartbeatMs: 500, RebalanceTimeoutMs: 30_000,
		Isolation: "read_uncommitted", Codec: "none",
	}
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "the one argument must be the configuration, as JSON")
		os.Exit(2)
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &config); err != nil {
		fmt.Fprintln(os.Stderr, "the one argument must be the configuration, as JSON:", err)
		os.Exit(2)
	}
	return config
}

// Record is one to be sent; a partition that is nil is the client's to choose. Bytes are base64 in JSON.
type Record struct {
	Topic     string   `json:"topic"`
	Partition *int32   `json:"partition"`
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   []Header `json:"headers"`
	Timestamp *int64   `json:"timestamp"`
}

// Time is the record's own, or zero, which tells both clients to take the present.
func (r Record) Time() time.Time {
	if r.Timestamp == nil {
		return time.Time{}
	}
	return time.UnixMilli(*r.Timestamp)
}

// Header is a pair of name and value.
type Header struct {
	Name  string
	Value []byte
}

// UnmarshalJSON reads [name, value].
func (h *Header) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[2]any{&h.Name, &h.Value})
}

// MarshalJSON writes [name, value].
func (h Header) MarshalJSON() ([]byte, error) { return json.Marshal([2]any{h.Name, h.Value}) }

// Partition is written as ["topic", 0].
type Partition struct {
	Topic  string
	Number int32
}

// MarshalJSON writes [topic, number].
func (p Partition) MarshalJSON() ([]byte, error) { return json.Marshal([2]any{p.Topic, p.Number}) }

// Position is written as ["topic", 0, 42].
type Position struct {
	Partition
	Offset int64
}

// UnmarshalJSON reads [topic, number, offset].
func (p *Position) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[3]any{&p.Topic, &p.Number, &p.Offset})
}

// MarshalJSON writes [topic, number, offset].
func (p Position) MarshalJSON() ([]byte, error) {
	return json.Marshal([3]any{p.Topic, p.Number, p.Offset})
}

// Command is what the suite asks for; which fields count depends on Do.
type Command struct {
	Do        string     `json:"do"`
	Records   []Record   `json:"records"`
	Group     string     `json:"group"`
	Positions []Position `json:"positions"`
}

// Commands calls back with each command until one says "close"; when the input ends first, the process does too, as
// somebody whose case is gone.
func Commands(obey func(Command) error) {
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		text, err := input.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var command Command
		if err := json.Unmarshal(text, &command); err != nil {
			Failed("", fmt.Errorf("unreadable line %q: %w", text, err))
			continue
		}
		if command.Do == "close" {
			return
		}
		if err := obey(command); err != nil {
			Failed(command.Do, err)
		}
	}
}

// Event is one line of output.
type Event map[string]any

var writing sync.Mutex

// Emit writes one event, in one piece.
func Emit(event string, fields Event) {
	whole := Event{"event": event}
	for name, value := range fields {
		whole[name] = value
	}
	text, err := json.Marshal(whole)
	if err != nil {
		panic(err)
	}
	writing.Lock()
	defer writing.Unlock()
	os.Stdout.Write(append(text, '\n'))
}

// Failed tells of an error; command is the one that failed, or empty.
func Failed(command string, err error) {
	fields := Event{"error": err.Error()}
	if command != "" {
		fields["command"] = command
	}
	Emit("error", fields)
}

// Unsupported ends the process: the client does not have this.
func Unsupported(what string) {
	Emit("unsupported", Event{"what": what})
	os.Exit(0)
}

// Unknown is the answer to a command that the program does not know in its role.
func Unknown(command Command) error { return fmt.Errorf("unknown command %q", command.Do) }
