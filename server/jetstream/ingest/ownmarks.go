package ingest

import (
	"bytes"
	"fmt"
	"strings"

	"runnel/headers"
	"runnel/server/jetstream/api"
)

// Headers of our own begin with ownPrefix. ownPart is a part of that, and of the same in small letters: names are matched exactly, and
// one that nearly is one of ours is refused rather than ignored.
const (
	ownPrefix  = "Runnel-"
	ownPart    = "unnel-"
	deadPrefix = ownPrefix + "Dead-"
)

// The headers that jetlog takes notice of.
const (
	producerHeader = ownPrefix + "Producer"
	numberHeader   = ownPrefix + "Producer-Seq"
)

// The headers that clients may set, as bits.
const (
	ownAck = 1 << iota
	ownDelay
	ownDeliverAt
	ownProducer
	ownNumber
)

// isOwn reports whether a name is one of ours, or was meant to be.
func isOwn(name []byte) bool {
	return len(name) > len(ownPrefix) && bytes.EqualFold(name[:len(ownPrefix)], []byte(ownPrefix))
}

// noteOwn notes a header of our own. Each of them asks for something that is missed only later if it is not done: a message that is
// stored at once, or twice. So none is left aside because it is not known, and none is there twice.
func (m *marks) noteOwn(name string, value []byte) {
	bit := uint8(0)
	switch name {
	case api.AckHeader:
		bit = ownAck
		if m.ack == nil {
			m.ack = append([]byte{}, value...)
		}
	case api.DelayHeader:
		bit, m.delayed = ownDelay, true
	case api.DeliverAtHeader:
		bit, m.delayed = ownDeliverAt, true
	case producerHeader:
		bit = ownProducer
	case numberHeader:
		bit = ownNumber
	case api.RedriveTo, api.DeadPath:
		m.reserved = true
	default:
		if !strings.HasPrefix(name, deadPrefix) && name != api.DelayedID { // who passes a dead letter on may keep what it says
			m.wrong = fmt.Sprintf("%q is none of those that there are: Runnel-Producer, Runnel-Producer-Seq, Runnel-Ack, Runnel-Delay and Runnel-Deliver-At", name)
		}
	}
	if m.seen&bit != 0 {
		m.wrong = name + " is there twice: leave one of them out"
	}
	m.seen |= bit
}

// withoutReserved returns a header block without what only the server sets: for whom alone a message is that was put back, and where one was given
// up before. Whoever passes such a message on passes on its headers, too.
func withoutReserved(block []byte) []byte {
	return headers.Delete(headers.Delete(block, api.RedriveTo), api.DeadPath)
}
