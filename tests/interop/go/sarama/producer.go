package main

import (
	"github.com/IBM/sarama"

	"groupsim/interop/line"
)

var codecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

type producer struct{ sarama.SyncProducer }

func produce(config line.Config, settings *sarama.Config) {
	codec, known := codecs[config.Codec]
	if !known {
		line.Unsupported(config.Codec)
	}
	settings.Producer.Return.Successes = true
	settings.Producer.RequiredAcks = sarama.WaitForAll
	settings.Producer.Compression = codec
	settings.Producer.Partitioner = newPartitioner
	settings.Producer.Idempotent = config.Idempotent || config.TransactionalID != ""
	settings.Producer.Transaction.ID = config.TransactionalID
	if settings.Producer.Idempotent {
		settings.Net.MaxOpenRequests = 1 // sarama takes no more with an idempotent producer
	}
	made, err := sarama.NewSyncProducer(config.Brokers(), settings) // with a transactional id it initialises that, too
	orEnd(err)
	line.Emit("ready", nil)
	producer := producer{made}
	line.Commands(producer.obey)
	if err := producer.Close(); err != nil {
		line.Failed("", err)
	}
}

func (p producer) obey(command line.Command) error {
	switch command.Do {
	case "send":
		return p.send(command.Records)
	case "begin":
		return told("begun", p.BeginTxn())
	case "commit":
		return told("committed", p.CommitTxn())
	case "abort":
		return told("aborted", p.AbortTxn())
	case "send_offsets":
		return told("offsets_sent", p.AddOffsetsToTxn(offsets(command.Positions), command.Group))
	}
	return line.Unknown(command)
}

func told(event string, err error) error {
	if err == nil {
		line.Emit(event, nil)
	}
	return err
}

func (p producer) send(asked []line.Record) error {
	messages := []*sarama.ProducerMessage{}
	for _, one := range asked {
		messages = append(messages, message(one))
	}
	if err := p.SendMessages(messages); err != nil {
		return err
	}
	positions := []line.Position{}
	for _, sent := range messages { // the client has filled in where they went
		at := line.Partition{Topic: sent.Topic, Number: sent.Partition}
		positions = append(positions, line.Position{Partition: at, Offset: sent.Offset})
	}
	line.Emit("sent", line.Event{"positions": positions})
	return nil
}

func message(asked line.Record) *sarama.ProducerMessage {
	made := &sarama.ProducerMessage{Topic: asked.Topic, Partition: free, Timestamp: asked.Time()}
	if asked.Partition != nil {
		made.Partition = *asked.Partition
	}
	if asked.Key != nil {
		made.Key = sarama.ByteEncoder(asked.Key)
	}
	if asked.Value != nil {
		made.Value = sarama.ByteEncoder(asked.Value)
	}
	for _, header := range asked.Headers {
		made.Headers = append(made.Headers, sarama.RecordHeader{Key: []byte(header.Name), Value: header.Value})
	}
	return made
}

func offsets(positions []line.Position) map[string][]*sarama.PartitionOffsetMetadata {
	found := map[string][]*sarama.PartitionOffsetMetadata{}
	for _, position := range positions {
		found[position.Topic] = append(found[position.Topic], &sarama.PartitionOffsetMetadata{
			Partition: position.Number, Offset: position.Offset, LeaderEpoch: -1,
		})
	}
	return found
}
