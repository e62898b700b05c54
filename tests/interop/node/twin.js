// kafkajs's consumers, many in one process, of any release: NODE_PATH=... node twin.js
//
// The lines of JSON are those of ../java/Twin.java; `settings` are kafkajs's own, by the call that takes them. Its
// round-robin assignor goes by the name that Java's client has for its own, so that both can be in one group.
const readline = require("readline")
const { Kafka, PartitionAssigners, logLevel } = require("kafkajs")

const roundrobin = given => ({ ...PartitionAssigners.roundRobin(given), name: "roundrobin" })
const say = (name, said) => process.stdout.write(JSON.stringify({ name, said }) + "\n")

const named = assignment =>
  Object.entries(assignment)
    .flatMap(([topic, numbers]) => numbers.map(number => `${topic}-${number}`))
    .sort()

async function start({ name, settings, topics, tells }) {
  const kafka = new Kafka({ ...settings.client, brokers: settings["bootstrap.servers"].split(","), logLevel: logLevel.NOTHING })
  const consumer = kafka.consumer({ ...settings.consumer, partitionAssigners: [roundrobin] })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) =>
    say(name, ["assigned", ...named(payload.memberAssignment)].join(" "))
  )
  consumer.on(consumer.events.CRASH, ({ payload }) => say(name, `threw ${payload.error.name} # ${payload.error.message}`))
  await consumer.connect()
  await consumer.subscribe({ topics, fromBeginning: true })
  await consumer.run({
    ...settings.run,
    eachMessage: async ({ topic, partition, message }) => {
      if (tells) say(name, `got ${topic}-${partition}@${message.offset}`)
    },
  })
}

const lines = readline.createInterface({ input: process.stdin })
lines.on("line", line => {
  const told = JSON.parse(line)
  if (told.do === "start") start(told).catch(failed => say(told.name, `error ${failed}`))
})
lines.on("close", () => process.exit(0))
