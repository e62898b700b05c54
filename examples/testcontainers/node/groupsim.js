// A broker of groupsim: the one that GROUPSIM_BOOTSTRAP and GROUPSIM_CONTROL name, or a container of its own.
import { once } from "node:events"
import { createServer } from "node:net"
import { GenericContainer, Wait, getContainerRuntimeClient } from "testcontainers"

const TOKEN = process.env.GROUPSIM_TOKEN ?? "secret"
const CONTROL_PORT = 9080
const authorization = { Authorization: `Bearer ${TOKEN}` }

export async function startGroupsim() {
  const { GROUPSIM_BOOTSTRAP: bootstrap, GROUPSIM_CONTROL: control, GROUPSIM_IMAGE: image = "groupsim" } = process.env
  if (bootstrap) return broker(bootstrap, control)
  // Clients connect to the address that the broker advertises, so its port is the same inside and outside.
  const host = (await getContainerRuntimeClient()).info.containerRuntime.host
  const port = await freePort()
  const container = await new GenericContainer(image)
    .withEnvironment({ GROUPSIM_TOKEN: TOKEN })
    .withCommand([
      "serve", "--listen", "0.0.0.0", "--advertised-host", host,
      "--brokers", "1", "--port", `${port}`, "--control-port", `${CONTROL_PORT}`,
      "--topic", "orders:4", "--broker", "group.initial.rebalance.delay.ms=0",
    ])
    .withExposedPorts(CONTROL_PORT, { container: port, host: port })
    .withWaitStrategy(Wait.forHttp("/cluster", CONTROL_PORT).withHeaders(authorization))
    .start()
  return broker(`${host}:${port}`, `http://${container.getHost()}:${container.getMappedPort(CONTROL_PORT)}`, container)
}

function broker(bootstrap, control, container) {
  return {
    bootstrap,
    // Sends a step to the control port: an action to /actions, a fault to /faults.
    async post(path, step) {
      const headers = { ...authorization, "Content-Type": "application/json" }
      const response = await fetch(control + path, { method: "POST", headers, body: JSON.stringify(step) })
      if (!response.ok) throw new Error(await response.text())
    },
    stop: async () => container?.stop(),
  }
}

async function freePort() {
  const server = createServer().listen(0)
  await once(server, "listening")
  const { port } = server.address()
  server.close()
  await once(server, "close")
  return port
}
