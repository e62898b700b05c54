package fencing

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

const controlPort = "9080"

// groupsim is a broker: the one that GROUPSIM_BOOTSTRAP and GROUPSIM_CONTROL name, or a container of its own.
type groupsim struct {
	bootstrap, control, token string
}

func startGroupsim(t *testing.T) groupsim {
	t.Helper()
	token := cmp.Or(os.Getenv("GROUPSIM_TOKEN"), "secret")
	if bootstrap := os.Getenv("GROUPSIM_BOOTSTRAP"); bootstrap != "" {
		return groupsim{bootstrap, os.Getenv("GROUPSIM_CONTROL"), token}
	}
	provider, err := testcontainers.NewDockerProvider()
	require(t, err)
	defer provider.Close()
	host, err := provider.DaemonHost(t.Context())
	require(t, err)
	// Clients connect to the address that the broker advertises, so its port is the same inside and outside.
	port := strconv.Itoa(freePort(t))
	broker, err := testcontainers.Run(t.Context(), cmp.Or(os.Getenv("GROUPSIM_IMAGE"), "groupsim"),
		testcontainers.WithEnv(map[string]string{"GROUPSIM_TOKEN": token}),
		testcontainers.WithCmd("serve", "--listen", "0.0.0.0", "--advertised-host", host,
			"--brokers", "1", "--port", port, "--control-port", controlPort,
			"--topic", "orders:4", "--broker", "group.initial.rebalance.delay.ms=0"),
		testcontainers.WithExposedPorts(controlPort+"/tcp", port+"/tcp"),
		testcontainers.WithHostConfigModifier(func(config *container.HostConfig) {
			config.PortBindings = network.PortMap{network.MustParsePort(port + "/tcp"): {{HostPort: port}}}
		}),
		testcontainers.WithWaitStrategy(wait.ForHTTP("/cluster").WithPort(controlPort+"/tcp").
			WithHeaders(map[string]string{"Authorization": "Bearer " + token})),
	)
	testcontainers.CleanupContainer(t, broker)
	require(t, err)
	control, err := broker.PortEndpoint(t.Context(), controlPort+"/tcp", "http")
	require(t, err)
	return groupsim{net.JoinHostPort(host, port), control, token}
}

// post sends a step to the control port: an action to /actions, a fault to /faults.
func (g groupsim) post(t *testing.T, path, step string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.control+path, strings.NewReader(step))
	require(t, err)
	request.Header.Set("Authorization", "Bearer "+g.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require(t, err)
	defer response.Body.Close()
	if response.StatusCode >= http.StatusMultipleChoices {
		body, _ := io.ReadAll(response.Body)
		require(t, fmt.Errorf("%s: %s", response.Status, body))
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", ":0")
	require(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func require(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
