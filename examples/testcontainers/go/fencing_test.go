package fencing

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestAFencedMemberLosesItsPartitionsAndJoinsAgain(t *testing.T) {
	broker := startGroupsim(t)
	group := "payments-" + rand.Text()
	callbacks := make(chan string, 10)
	callback := func(name string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
			callbacks <- fmt.Sprint(name, " ", len(topics["orders"]))
		}
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(broker.bootstrap, ",")...),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics("orders"),
		kgo.HeartbeatInterval(500*time.Millisecond),
		kgo.OnPartitionsAssigned(callback("assigned")),
		kgo.OnPartitionsRevoked(callback("revoked")),
		kgo.OnPartitionsLost(callback("lost")),
	)
	require(t, err)
	defer client.Close()
	seen := []string{next(t, callbacks)}
	before, _ := client.GroupMetadata()

	// The coordinator loses the group: the next heartbeat is answered with UNKNOWN_MEMBER_ID.
	broker.post(t, "/actions", fmt.Sprintf(`{"do": "forget-group", "group": %q}`, group))

	seen = append(seen, next(t, callbacks), next(t, callbacks))
	if want := []string{"assigned 4", "lost 4", "assigned 4"}; !slices.Equal(seen, want) {
		t.Errorf("the callbacks were %q, not %q", seen, want)
	}
	if after, _ := client.GroupMetadata(); after == before {
		t.Errorf("the member id is still %s", after)
	}
}

func next(t *testing.T, callbacks <-chan string) string {
	t.Helper()
	select {
	case name := <-callbacks:
		return name
	case <-time.After(30 * time.Second):
		t.Fatal("no callback within 30 s")
		return ""
	}
}
