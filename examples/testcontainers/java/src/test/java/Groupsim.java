import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** A broker of groupsim: the one that GROUPSIM_BOOTSTRAP and GROUPSIM_CONTROL name, or a container of its own. */
final class Groupsim implements AutoCloseable {
    private static final String TOKEN = System.getenv().getOrDefault("GROUPSIM_TOKEN", "secret");
    private static final int CONTROL_PORT = 9080;

    final String bootstrap;
    private final String control;
    private final GenericContainer<?> container;
    private final HttpClient http = HttpClient.newHttpClient();

    private Groupsim(String bootstrap, String control, GenericContainer<?> container) {
        this.bootstrap = bootstrap;
        this.control = control;
        this.container = container;
    }

    static Groupsim start() throws IOException {
        String bootstrap = System.getenv("GROUPSIM_BOOTSTRAP");
        if (bootstrap != null) {
            return new Groupsim(bootstrap, System.getenv("GROUPSIM_CONTROL"), null);
        }
        // Clients connect to the address that the broker advertises, so its port is the same inside and outside.
        String host = DockerClientFactory.instance().dockerHostIpAddress();
        int port = freePort();
        GenericContainer<?> container =
            new GenericContainer<>(System.getenv().getOrDefault("GROUPSIM_IMAGE", "groupsim"))
                .withEnv("GROUPSIM_TOKEN", TOKEN)
                .withCommand("serve", "--listen", "0.0.0.0", "--advertised-host", host,
                    "--brokers", "1", "--port", String.valueOf(port), "--control-port", String.valueOf(CONTROL_PORT),
                    "--topic", "orders:4", "--broker", "group.initial.rebalance.delay.ms=0")
                .withExposedPorts(CONTROL_PORT)
                .waitingFor(Wait.forHttp("/cluster").forPort(CONTROL_PORT)
                    .withHeader("Authorization", "Bearer " + TOKEN));
        container.setPortBindings(List.of(port + ":" + port));
        container.start();
        String control = "http://" + container.getHost() + ":" + container.getMappedPort(CONTROL_PORT);
        return new Groupsim(host + ":" + port, control, container);
    }

    /** Sends a step to the control port: an action to "/actions", a fault to "/faults". */
    void post(String path, String step) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(control + path))
            .header("Authorization", "Bearer " + TOKEN)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(step))
            .build();
        HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() >= 300) {
            throw new IOException(response.body());
        }
    }

    @Override
    public void close() {
        if (container != null) {
            container.stop();
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }
}
