package command

import (
	"fmt"

	"runnel/jetlog/codec"
)

// Version is the first byte of a command.
const Version = 1

// Level is the feature level of this program: it understands every kind up to it. A kind must not be
// proposed before all replicas have its level.
const Level = 2

// ErrNewer is wrapped by the error for a command of a later version or of an unknown kind: it was
// written by a newer program, nothing is wrong with it.
var ErrNewer = codec.ErrNewer

// Kind says what a command asks for. The numbers are part of the format.
type Kind uint8

// The kinds of commands.
const (
	KindPublish         Kind = 1
	KindDelete          Kind = 2
	KindPurge           Kind = 3
	KindExpire          Kind = 4
	KindConfigure       Kind = 5
	KindBatch           Kind = 6
	KindCopy            Kind = 7
	KindFire            Kind = 8
	KindContinue        Kind = 9
	KindConsumerCreate  Kind = 16
	KindConsumerDelete  Kind = 17
	KindDeliver         Kind = 18
	KindAck             Kind = 19
	KindAckDeadline     Kind = 20
	KindPause           Kind = 21
	KindReset           Kind = 22
	KindPin             Kind = 23
	KindConsumerRestore Kind = 24
	KindSkip            Kind = 25
	KindGiveUp          Kind = 26
	KindHanded          Kind = 27
	KindSettle          Kind = 28
	KindPaid            Kind = 29
	KindProducers       Kind = 30
)

// Level returns the feature level from which the kind may be proposed, 0 for an unknown kind.
func (k Kind) Level() int {
	switch {
	case fresh(k) == nil:
		return 0
	case k >= KindSkip:
		return 2
	}
	return 1
}

// Stores reports whether commands of the kind bring messages: those that have to wait, or be refused, where
// there is no room for more.
func (k Kind) Stores() bool {
	switch k {
	case KindPublish, KindBatch, KindCopy, KindFire:
		return true
	}
	return false
}

// Command is one of the types of this package, by pointer. What its slices refer to must not change
// after it was applied, since a stream may keep them.
type Command interface {
	// Kind returns which type it is.
	Kind() Kind
	// At returns the time that came in with the command.
	At() int64

	encode(out []byte) []byte
	decode(r *codec.Reader)
}

// Append appends the encoded command.
func Append(out []byte, c Command) []byte {
	return c.encode(append(out, Version, byte(c.Kind())))
}

// Decode returns the command in data, to which its slices refer.
func Decode(data []byte) (Command, error) {
	r := codec.NewReader(data)
	version, kind := r.Byte(), Kind(r.Byte())
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	if version > Version {
		return nil, fmt.Errorf("command of version %d, this program knows up to %d: %w", version, Version, ErrNewer)
	}
	if version < 1 {
		return nil, fmt.Errorf("command of version %d: %w", version, codec.ErrDamaged)
	}
	c := fresh(kind)
	if c == nil {
		return nil, fmt.Errorf("command of kind %d: %w", kind, ErrNewer)
	}
	c.decode(&r)
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("command of kind %d: %w", kind, err)
	}
	return c, nil
}

// fresh returns an empty command of the kind, nil for an unknown one.
func fresh(kind Kind) Command {
	switch kind {
	case KindPublish:
		return &Publish{}
	case KindDelete:
		return &Delete{}
	case KindPurge:
		return &Purge{}
	case KindExpire:
		return &Expire{}
	case KindConfigure:
		return &Configure{}
	case KindBatch:
		return &Batch{}
	case KindCopy:
		return &Copy{}
	case KindFire:
		return &Fire{}
	case KindContinue:
		return &Continue{}
	case KindConsumerCreate:
		return &ConsumerCreate{}
	case KindConsumerDelete:
		return &ConsumerDelete{}
	case KindDeliver:
		return &Deliver{}
	case KindAck:
		return &Ack{}
	case KindAckDeadline:
		return &AckDeadline{}
	case KindPause:
		return &Pause{}
	case KindReset:
		return &Reset{}
	case KindPin:
		return &Pin{}
	case KindConsumerRestore:
		return &ConsumerRestore{}
	case KindSkip:
		return &Skip{}
	case KindGiveUp:
		return &GiveUp{}
	case KindHanded:
		return &Handed{}
	case KindSettle:
		return &Settle{}
	case KindPaid:
		return &Paid{}
	case KindProducers:
		return &Producers{}
	}
	return nil
}
