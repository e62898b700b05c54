import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { Kafka, logLevel } from "kafkajs"
import { startGroupsim } from "./groupsim.js"

test("a fenced member joins again under a new member id", { timeout: 120_000 }, async t => {
  const groupsim = await startGroupsim()
  const kafka = new Kafka({ brokers: groupsim.bootstrap.split(","), logLevel: logLevel.NOTHING })
  const group = `payments-${randomUUID()}`
  const consumer = kafka.consumer({ groupId: group, heartbeatInterval: 500, maxWaitTimeInMs: 500 })
  t.after(async () => {
    await consumer.disconnect() // before the broker ends: kafkajs would try to connect again
    await groupsim.stop()
  })
  const joined = []
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => joined.push(payload))
  await consumer.connect()
  await consumer.subscribe({ topics: ["orders"] })
  await consumer.run({ eachMessage: async () => {} })
  await until(() => joined.length === 1)

  // The coordinator loses the group: the next heartbeat is answered with UNKNOWN_MEMBER_ID.
  await groupsim.post("/actions", { do: "forget-group", group })

  await until(() => joined.length === 2)
  const [before, after] = joined
  assert.notEqual(after.memberId, before.memberId)
  assert.deepEqual(after.memberAssignment.orders.toSorted(), [0, 1, 2, 3])
})

async function until(condition, seconds = 30) {
  const end = Date.now() + seconds * 1000
  while (!condition()) {
    assert.ok(Date.now() < end, `not within ${seconds} s`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
