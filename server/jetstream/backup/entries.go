package backup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"runnel/jetlog/body"
)

// entries reads version 2.
type entries struct {
	in    *input
	stage stage
	due   int // consumers that the state has announced and that have not come yet
}

// prefix is what stands before the content of an entry.
type prefix struct {
	nameBytes, sequence, headerBytes, payloadBytes uint64
	time                                           int64
}

// next reads an entry. What comes when is checked too: an archive has one state, consumers only
// before the messages, and nothing after its end.
func (e *entries) next() (Entry, error) {
	p, err := e.prefix()
	if err != nil {
		return Entry{}, err
	}
	if p == (prefix{}) {
		return Entry{}, e.end()
	}
	name, err := take(e.in, p.nameBytes)
	if err != nil {
		return Entry{}, e.in.broken("name of an entry", err)
	}
	content, err := take(e.in, p.headerBytes+p.payloadBytes)
	if err != nil {
		return Entry{}, e.in.broken(fmt.Sprintf("content of %.64q", name), err)
	}
	if p.sequence == 0 {
		return e.description(string(name), content)
	}
	if e.stage == atState || e.due != 0 {
		return Entry{}, fmt.Errorf("%w: message %d comes before the state or the last consumer", ErrDamaged, p.sequence)
	}
	e.stage = atMessages
	return Entry{Message: newMessage(p.sequence, p.time, string(name), content, p.headerBytes)}, nil
}

// newMessage puts a message together whose header block and payload follow each other.
func newMessage(seq uint64, time int64, subject string, content []byte, headerBytes uint64) *body.Message {
	m := &body.Message{Sequence: seq, Time: time, Subject: subject, Payload: content[headerBytes:]}
	if headerBytes > 0 {
		m.Header = content[:headerBytes:headerBytes]
	}
	return m
}

// prefix reads the numbers of an entry.
func (e *entries) prefix() (prefix, error) {
	var p prefix
	var err error
	unsigned := func(n *uint64) {
		if err == nil {
			*n, err = binary.ReadUvarint(e.in)
		}
	}
	unsigned(&p.nameBytes)
	if err == nil {
		p.time, err = binary.ReadVarint(e.in)
	}
	unsigned(&p.sequence)
	unsigned(&p.headerBytes)
	unsigned(&p.payloadBytes)
	if err != nil {
		return p, e.in.broken("beginning of an entry", err)
	}
	limit := uint64(maxMessageBytes)
	if p.sequence == 0 {
		limit = maxJSONBytes
	}
	if p.nameBytes > maxNameBytes || p.headerBytes > limit || p.payloadBytes > limit-p.headerBytes {
		return p, fmt.Errorf("%w: sequence %d, with %d bytes of name, %d of header and %d of payload",
			ErrTooLarge, p.sequence, p.nameBytes, p.headerBytes, p.payloadBytes)
	}
	return p, nil
}

// description makes an entry of what has no sequence.
func (e *entries) description(name string, data []byte) (Entry, error) {
	consumer, isConsumer := strings.CutPrefix(name, consumerPrefix)
	switch {
	case e.stage == atState && name == stateName:
		s, err := decodeState(data)
		if err != nil {
			return Entry{}, err
		}
		e.stage, e.due = atConsumers, s.Consumers
		return Entry{State: s}, nil
	case e.stage == atConsumers && isConsumer && e.due > 0:
		e.due--
		c, err := decodeConsumer(consumer, data)
		return Entry{Consumer: c}, err
	case isConsumer || name == stateName || e.stage == atState:
		return Entry{}, fmt.Errorf("%w: %.64q is not where it belongs", ErrDamaged, name)
	}
	return Entry{}, fmt.Errorf("%w: %.64q is not known: it is of a newer nats-server or runnel", ErrVersion, name)
}

// end makes sure that nothing follows, which also verifies the last checksum.
func (e *entries) end() error {
	if e.stage == atState || e.due != 0 {
		return fmt.Errorf("%w: it has no state, or not all consumers", ErrDamaged)
	}
	if _, err := e.in.ReadByte(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("something follows")
		}
		return e.in.broken("end", err)
	}
	return io.EOF
}
