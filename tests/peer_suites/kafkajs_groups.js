// Group tests through kafkajs, whose npm package ships none of its own: node kafkajs_groups.js BOOTSTRAP
// One line of JSON per test.
const { Kafka, PartitionAssigners, logLevel } = require("kafkajs")

const kafka = new Kafka({ clientId: "peer", brokers: process.argv[2].split(","), logLevel: logLevel.NOTHING })
const admin = kafka.admin()
let number = 0

const sleep = ms => new Promise(done => setTimeout(done, ms))
const equal = (found, expected, what) => {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)]
  if (one !== other) throw new Error(`${what}: ${one} in place of ${other}`)
}
const until = async (check, what, seconds = 40) => {
  for (let tries = 0; tries < seconds * 10; tries++) {
    if (await check()) return
    await sleep(100)
  }
  throw new Error(`${what}: not within ${seconds} s`)
}

async function topic(partitions) {
  const name = `kafkajs-${process.pid}-${++number}`
  await admin.createTopics({ topics: [{ topic: name, numPartitions: partitions, replicationFactor: 3 }], waitForLeaders: true })
  return name
}

async function produce(name, count) {
  const producer = kafka.producer()
  await producer.connect()
  const messages = [...Array(count).keys()].map(key => ({ key: `${key}`, value: `v${key}`, partition: key % 4 }))
  await producer.send({ topic: name, acks: -1, messages })
  await producer.disconnect()
}

async function member(group, name, seen, options = {}) {
  const consumer = kafka.consumer({ groupId: group, sessionTimeout: 10000, heartbeatInterval: 500, ...options })
  const state = { consumer, owned: [] }
  consumer.on(consumer.events.GROUP_JOIN, event => (state.owned = event.payload.memberAssignment[name] || []))
  await consumer.connect()
  await consumer.subscribe({ topics: [name], fromBeginning: true })
  await consumer.run({ eachMessage: async ({ message, partition }) => seen.push(`${partition}:${message.offset}`) })
  return state
}

const tests = {
  "a group consumes every record once": async () => {
    const [name, seen] = [await topic(4), []]
    await produce(name, 40)
    const one = await member(`${name}-g`, name, seen)
    await until(() => seen.length >= 40, "40 records")
    await one.consumer.disconnect()
    equal(new Set(seen).size, 40, "different records")
  },
  "two members share the partitions, and the last one gets them back": async () => {
    const [name, seen] = [await topic(4), []]
    const members = [await member(`${name}-g`, name, seen), await member(`${name}-g`, name, seen)]
    await until(() => members.every(one => one.owned.length === 2), "two partitions each")
    await members[0].consumer.disconnect()
    await until(() => members[1].owned.length === 4, "all partitions")
    await members[1].consumer.disconnect()
  },
  "a new member goes on at the committed offsets": async () => {
    const [name, seen, later] = [await topic(4), [], []]
    await produce(name, 40)
    const one = await member(`${name}-g`, name, seen)
    await until(() => seen.length >= 40, "40 records")
    await one.consumer.disconnect()
    await produce(name, 8)
    const two = await member(`${name}-g`, name, later)
    await until(() => later.length >= 8, "8 records")
    await two.consumer.disconnect()
    equal(later.length, 8, "records after the commit")
  },
  "groups are described, listed and deleted": async () => {
    const [name, seen] = [await topic(4), []]
    const group = `${name}-g`
    const one = await member(group, name, seen, { partitionAssigners: [PartitionAssigners.roundRobin] })
    await until(() => one.owned.length === 4, "all partitions")
    const [described] = (await admin.describeGroups([group])).groups
    equal([described.state, described.protocol, described.members.length], ["Stable", "RoundRobinAssigner", 1], "described")
    equal((await admin.listGroups()).groups.some(listed => listed.groupId === group), true, "listed")
    await one.consumer.disconnect()
    const [deleted] = await admin.deleteGroups([group])
    equal([deleted.groupId, deleted.errorCode || 0], [group, 0], "deleted")
  },
  "offsets are set, fetched and reset": async () => {
    const name = await topic(4)
    const group = `${name}-g`
    await produce(name, 40)
    await admin.setOffsets({ groupId: group, topic: name, partitions: [{ partition: 0, offset: "7" }] })
    const [fetched] = await admin.fetchOffsets({ groupId: group, topics: [name] })
    equal(fetched.partitions.find(one => one.partition === 0).offset, "7", "set offset")
    await admin.resetOffsets({ groupId: group, topic: name, earliest: true })
    const [reset] = await admin.fetchOffsets({ groupId: group, topics: [name], resolveOffsets: true })
    equal(reset.partitions.find(one => one.partition === 0).offset, "0", "reset offset")
  },
  "a transaction commits its group's offsets, an aborted one does not": async () => {
    const name = await topic(4)
    const group = `${name}-g`
    const producer = kafka.producer({ transactionalId: `${name}-t`, idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    for (const [offset, end] of [["5", "commit"], ["9", "abort"]]) {
      const transaction = await producer.transaction()
      await transaction.send({ topic: name, messages: [{ value: end }] })
      await transaction.sendOffsets({ consumerGroupId: group, topics: [{ topic: name, partitions: [{ partition: 0, offset }] }] })
      await transaction[end]()
    }
    await producer.disconnect()
    const [fetched] = await admin.fetchOffsets({ groupId: group, topics: [name] })
    equal(fetched.partitions.find(one => one.partition === 0).offset, "5", "offset of the committed transaction")
  },
  "settings of topics and groups are described and altered": async () => {
    const name = await topic(1)
    const configEntries = [{ name: "retention.ms", value: "50000" }]
    await admin.alterConfigs({ validateOnly: false, resources: [{ type: 2, name, configEntries }] })
    const { resources } = await admin.describeConfigs({ resources: [{ type: 2, name, configNames: ["retention.ms"] }] })
    equal(resources[0].configEntries[0].configValue, "50000", "altered setting")
  },
}

async function main() {
  await admin.connect()
  for (const [test, body] of Object.entries(tests)) {
    try {
      await body()
      console.log(JSON.stringify({ test, outcome: "passed" }))
    } catch (error) {
      console.log(JSON.stringify({ test, outcome: "failed", why: error.message }))
    }
  }
  await admin.disconnect()
  process.exit(0)
}

main()
