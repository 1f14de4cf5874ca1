package command

import (
	"time"

	"runnel/jetlog/codec"
	"runnel/jetlog/config"
)

// Action says what ConsumerCreate may do.
type Action uint8

// CreateOrUpdate does either, CreateOnly refuses another configuration for an existing consumer,
// UpdateOnly refuses a missing consumer.
const (
	CreateOrUpdate Action = iota
	CreateOnly
	UpdateOnly
)

// ConsumerCreate asks for a consumer with this configuration, normalised already.
type ConsumerCreate struct {
	Time   int64
	Action Action
	// Max is how many consumers the stream may have if its own configuration does not say. Zero is
	// no limit.
	Max    uint64
	Config config.Consumer
}

// Kind returns KindConsumerCreate.
func (*ConsumerCreate) Kind() Kind { return KindConsumerCreate }

// At returns the time.
func (c *ConsumerCreate) At() int64 { return c.Time }

func (c *ConsumerCreate) encode(out []byte) []byte {
	out = codec.AppendInt(out, c.Time)
	out = append(out, byte(c.Action))
	out = codec.AppendUint(out, c.Max)
	return AppendConfig(out, &c.Config)
}

func (c *ConsumerCreate) decode(r *codec.Reader) {
	c.Time, c.Action, c.Max = r.Int(), Action(r.Byte()), r.Uint()
	if c.Action > UpdateOnly {
		r.Fail("an action is unknown")
	}
	ReadConfig(r, &c.Config)
}

// ConsumerDelete asks to remove a consumer.
type ConsumerDelete struct {
	Time     int64
	Consumer string
}

// Kind returns KindConsumerDelete.
func (*ConsumerDelete) Kind() Kind { return KindConsumerDelete }

// At returns the time.
func (c *ConsumerDelete) At() int64 { return c.Time }

func (c *ConsumerDelete) encode(out []byte) []byte {
	return codec.AppendBytes(codec.AppendInt(out, c.Time), c.Consumer)
}

func (c *ConsumerDelete) decode(r *codec.Reader) { c.Time, c.Consumer = r.Int(), r.String() }

// Delivery is a message that was sent to somebody.
type Delivery struct {
	Sequence uint64
	// Again marks a message that was sent before.
	Again bool
}

// Deliver notes what the leader sent, in the order of sending.
type Deliver struct {
	Time     int64
	Consumer string
	// Incarnation is that of the consumer when the leader chose the messages, and From the consumer
	// sequence that it gave to the first. If either is not what it is when the command is applied,
	// the leader chose by a state that no longer holds, and nothing is noted.
	Incarnation uint64
	From        uint64
	Messages    []Delivery
}

// Kind returns KindDeliver.
func (*Deliver) Kind() Kind { return KindDeliver }

// At returns the time.
func (c *Deliver) At() int64 { return c.Time }

func (c *Deliver) encode(out []byte) []byte {
	out = codec.AppendInt(out, c.Time)
	out = codec.AppendBytes(out, c.Consumer)
	out = codec.AppendUint(out, c.Incarnation)
	out = codec.AppendUint(out, c.From)
	out = codec.AppendUint(out, uint64(len(c.Messages)))
	for _, m := range c.Messages {
		out = codec.AppendBool(codec.AppendUint(out, m.Sequence), m.Again)
	}
	return out
}

func (c *Deliver) decode(r *codec.Reader) {
	c.Time, c.Consumer, c.Incarnation, c.From = r.Int(), r.String(), r.Uint(), r.Uint()
	n := r.Count(2)
	c.Messages = make([]Delivery, n)
	for i := range c.Messages {
		c.Messages[i] = Delivery{r.Uint(), r.Bool()}
	}
}

// Answer is what a receiver says about a message.
type Answer uint8

// Done settles the message, Nak asks for it again, Terminate settles it without success, and
// Progress asks for more time.
const (
	Done Answer = iota
	Nak
	Terminate
	Progress
)

// Reply is one receiver's answer for one message.
type Reply struct {
	Answer   Answer
	Sequence uint64
	// Delay is how long a Nak wants to wait.
	Delay time.Duration
}

// Ack brings answers for messages of one consumer.
type Ack struct {
	Time     int64
	Consumer string
	Replies  []Reply
}

// Kind returns KindAck.
func (*Ack) Kind() Kind { return KindAck }

// At returns the time.
func (c *Ack) At() int64 { return c.Time }

func (c *Ack) encode(out []byte) []byte {
	out = codec.AppendInt(out, c.Time)
	out = codec.AppendBytes(out, c.Consumer)
	out = codec.AppendUint(out, uint64(len(c.Replies)))
	for _, a := range c.Replies {
		out = append(out, byte(a.Answer))
		out = codec.AppendUint(out, a.Sequence)
		if a.Answer == Nak {
			out = codec.AppendInt(out, int64(a.Delay))
		}
	}
	return out
}

func (c *Ack) decode(r *codec.Reader) {
	c.Time, c.Consumer = r.Int(), r.String()
	n := r.Count(2)
	c.Replies = make([]Reply, n)
	for i := range c.Replies {
		a := Reply{Answer: Answer(r.Byte()), Sequence: r.Uint()}
		switch {
		case a.Answer == Nak:
			a.Delay = time.Duration(r.Int())
		case a.Answer > Progress:
			r.Fail("an answer is unknown")
		}
		c.Replies[i] = a
	}
}

// AckDeadline asks to take up again what was not answered in time, for all consumers.
type AckDeadline struct {
	Time int64
}

// Kind returns KindAckDeadline.
func (*AckDeadline) Kind() Kind { return KindAckDeadline }

// At returns the time.
func (c *AckDeadline) At() int64 { return c.Time }

func (c *AckDeadline) encode(out []byte) []byte { return codec.AppendInt(out, c.Time) }

func (c *AckDeadline) decode(r *codec.Reader) { c.Time = r.Int() }

// Pause stops the deliveries of a consumer until a time, or lets them go on when Until is not in
// the future.
type Pause struct {
	Time     int64
	Consumer string
	Until    int64
}

// Kind returns KindPause.
func (*Pause) Kind() Kind { return KindPause }

// At returns the time.
func (c *Pause) At() int64 { return c.Time }

func (c *Pause) encode(out []byte) []byte {
	return codec.AppendInt(codec.AppendBytes(codec.AppendInt(out, c.Time), c.Consumer), c.Until)
}

func (c *Pause) decode(r *codec.Reader) { c.Time, c.Consumer, c.Until = r.Int(), r.String(), r.Int() }

// Reset lets a consumer begin again.
type Reset struct {
	Time     int64
	Consumer string
	// Sequence is the next message, 0 for the one after the ack floor.
	Sequence uint64
}

// Kind returns KindReset.
func (*Reset) Kind() Kind { return KindReset }

// At returns the time.
func (c *Reset) At() int64 { return c.Time }

func (c *Reset) encode(out []byte) []byte {
	return codec.AppendUint(codec.AppendBytes(codec.AppendInt(out, c.Time), c.Consumer), c.Sequence)
}

func (c *Reset) decode(r *codec.Reader) {
	c.Time, c.Consumer, c.Sequence = r.Int(), r.String(), r.Uint()
}

// Pin says which client a priority group belongs to.
type Pin struct {
	Time     int64
	Consumer string
	Group    string
	// ID is the client's, empty for nobody.
	ID string
}

// Kind returns KindPin.
func (*Pin) Kind() Kind { return KindPin }

// At returns the time.
func (c *Pin) At() int64 { return c.Time }

func (c *Pin) encode(out []byte) []byte {
	out = codec.AppendBytes(codec.AppendInt(out, c.Time), c.Consumer)
	return codec.AppendBytes(codec.AppendBytes(out, c.Group), c.ID)
}

func (c *Pin) decode(r *codec.Reader) {
	c.Time, c.Consumer, c.Group, c.ID = r.Int(), r.String(), r.String(), r.String()
}
