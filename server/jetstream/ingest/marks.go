package ingest

import (
	"bytes"
	"strconv"

	"runnel/headers"
	"runnel/server/jetstream/api"
)

// The headers that matter before a message is in the log. All names begin with the prefix, but for those of our own.
const (
	prefix         = "Nats-"
	requestInfo    = "Nats-Request-Info"
	messageID      = "Nats-Msg-Id"
	batchID        = "Nats-Batch-Id"
	batchSequence  = "Nats-Batch-Sequence"
	batchCommit    = "Nats-Batch-Commit"
	scheduleHeader = "Nats-Schedule"
	ttlHeader      = "Nats-TTL"
	expectedStream = "Nats-Expected-Stream"
)

// marks are what the headers of a message ask of this package; the rest is the stream's. Slices are parts of the
// header block. Of a header that occurs twice the first counts.
type marks struct {
	// any is set when there is a header that a stream may take notice of, and conditional when there is one for
	// which it may refuse the message.
	any, conditional bool
	// requestInfo is set when the message brings what an import has added about its sender, level when it requires
	// a level of the API, and schedule when it is a schedule.
	requestInfo, level, schedule bool
	// What is asked for that can be judged here: a TTL, and the stream that the message is meant for.
	ttl, stream []byte
	// delayed is set when the message may have to be stored later, reserved when it brings a header that only the server sets.
	delayed, reserved bool
	// wrong is what is wrong with headers of our own, empty for nothing, and seen has those that the message brings.
	wrong string
	seen  uint8
	// ack is the subject of the acknowledgement that is published with the message, nil for none.
	ack []byte
	// Of a member of an atomic batch: its batch, empty for none, its place in it, 0 if that is missing, and whether
	// it ends the batch.
	batch    []byte
	sequence uint64
	numbered bool
	commit   commit
}

// commit says whether a member ends its batch.
type commit uint8

const (
	uncommitted    commit = iota
	committed             // it is the last
	ended                 // the one before was the last; this one is not stored
	commitMistaken        // it says something else
)

// readMarks reads the headers of a message.
func readMarks(block []byte) marks {
	var m marks
	if len(block) == 0 {
		return m
	}
	m.any = bytes.Contains(block, []byte(prefix))
	own := bytes.Contains(block, []byte(ownPart))
	if !m.any && !own {
		return m
	}
	for name, value := range headers.All(block) {
		switch {
		case m.any && bytes.HasPrefix(name, []byte(prefix)):
			m.note(string(name), value)
		case own && isOwn(name):
			m.noteOwn(string(name), value)
		}
	}
	return m
}

func (m *marks) note(name string, value []byte) {
	switch name {
	case messageID:
	case requestInfo:
		m.requestInfo = true
	case api.LevelHeader:
		m.level = true
	case batchID:
		if m.batch == nil {
			m.batch = value
		}
	case batchSequence:
		if !m.numbered {
			seq, err := strconv.ParseUint(string(value), 10, 64)
			m.sequence, m.numbered = seq, err == nil
		}
	case batchCommit:
		if m.commit == uncommitted {
			m.commit = commitOf(value)
		}
	case ttlHeader:
		if m.ttl == nil {
			m.ttl = value
		}
	case expectedStream:
		if m.stream == nil {
			m.stream = value
		}
	case scheduleHeader:
		m.schedule, m.conditional = true, true
	default:
		m.conditional = true
	}
}

func commitOf(value []byte) commit {
	switch string(value) {
	case "1":
		return committed
	case "eob":
		return ended
	}
	return commitMistaken
}
