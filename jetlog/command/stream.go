package command

import (
	"encoding/json"

	"runnel/jetlog/causes"
	"runnel/jetlog/codec"
	"runnel/jetlog/config"
)

// Publish asks to store a message.
type Publish struct {
	Time int64
	// Subject is where the message is stored: what a transform of the stream made of the subject on
	// which it came. The leader applies it, since a transform may ask for chance.
	Subject string
	// Header is the header block as it was received, nil for none.
	Header  []byte
	Payload []byte
	// Internal is set for what the server itself publishes, for which headers are allowed that
	// clients may not send.
	Internal bool
	// Fire is when the schedule in the header is due for the first time. The leader computes it, since
	// the data of time zones differs between machines. It is 0 when there is no schedule, or one that is
	// never due, and UnknownZone when the leader does not know its time zone.
	Fire int64
	// Sourced is set for a message of a source, whose header says where it comes from. Previous is then the
	// sequence there of the message before it, 0 for none: if the stream is not just that far with the source,
	// nothing is stored.
	Sourced  bool
	Previous uint64
	// Put is set for what the server puts into the stream in somebody's name. What the header asks for is then asked of
	// nobody: it was said to the stream that the message comes from.
	Put *Put
	// Cause is the delivery that the message was made from, whose acknowledgement is published with it; nil for none. That of
	// a batch is in its last member.
	Cause *causes.Cause
}

// Put is in whose name a message is put, and with which number. One whose number the stream has had from that producer
// is a duplicate. Unlike those of clients the numbers only have to rise.
type Put struct {
	Producer string
	Number   uint64
	// After is a number that the stream must have had before, 0 for none: that of a message without which this one must
	// not be stored.
	After uint64
}

// UnknownZone is the Fire of a schedule whose time zone is not known.
const UnknownZone int64 = -1

// What the last byte of a message says.
const (
	internalFlag = 1 << iota
	fireFlag     // the time of Fire follows
	sourcedFlag  // Previous follows
	putFlag      // Put follows
	causeFlag    // Cause follows
	flagsEnd
)

// Kind returns KindPublish.
func (*Publish) Kind() Kind { return KindPublish }

// At returns the time.
func (c *Publish) At() int64 { return c.Time }

func (c *Publish) encode(out []byte) []byte {
	return c.encodeMessage(codec.AppendInt(out, c.Time))
}

func (c *Publish) decode(r *codec.Reader) {
	c.Time = r.Int()
	c.decodeMessage(r)
}

// encodeMessage appends all but the time.
func (c *Publish) encodeMessage(out []byte) []byte {
	out = codec.AppendBytes(out, c.Subject)
	out = codec.AppendBytes(out, c.Header)
	out = codec.AppendBytes(out, c.Payload)
	flags := byte(0)
	if c.Internal {
		flags |= internalFlag
	}
	if c.Fire != 0 {
		flags |= fireFlag
	}
	if c.Sourced {
		flags |= sourcedFlag
	}
	if c.Put != nil {
		flags |= putFlag
	}
	if c.Cause != nil {
		flags |= causeFlag
	}
	out = append(out, flags)
	if c.Fire != 0 {
		out = codec.AppendInt(out, c.Fire)
	}
	if c.Sourced {
		out = codec.AppendUint(out, c.Previous)
	}
	if p := c.Put; p != nil {
		out = codec.AppendBytes(out, p.Producer)
		out = codec.AppendUint(codec.AppendUint(out, p.Number), p.After)
	}
	if c.Cause != nil {
		out = c.Cause.Append(out)
	}
	return out
}

func (c *Publish) decodeMessage(r *codec.Reader) {
	c.Subject, c.Header, c.Payload = r.String(), r.Bytes(), r.Bytes()
	flags := r.Byte()
	if flags >= flagsEnd {
		r.Fail("a flag of a message is unknown")
	}
	c.Internal = flags&internalFlag != 0
	if flags&fireFlag != 0 {
		c.Fire = r.Int()
	}
	if c.Sourced = flags&sourcedFlag != 0; c.Sourced {
		c.Previous = r.Uint()
	}
	if flags&putFlag != 0 {
		c.Put = &Put{Producer: r.String(), Number: r.Uint(), After: r.Uint()}
	}
	if flags&causeFlag != 0 {
		c.Cause = causes.Read(r)
	}
}

// Delete asks to remove one message.
type Delete struct {
	Time     int64
	Sequence uint64
	// Erase asks that its bytes are overwritten, not only forgotten.
	Erase bool
}

// Kind returns KindDelete.
func (*Delete) Kind() Kind { return KindDelete }

// At returns the time.
func (c *Delete) At() int64 { return c.Time }

func (c *Delete) encode(out []byte) []byte {
	out = codec.AppendInt(out, c.Time)
	out = codec.AppendUint(out, c.Sequence)
	return codec.AppendBool(out, c.Erase)
}

func (c *Delete) decode(r *codec.Reader) {
	c.Time, c.Sequence, c.Erase = r.Int(), r.Uint(), r.Bool()
}

// Purge asks to remove the messages that match Filter, which is empty for all. At most one of
// Sequence and Keep is set.
type Purge struct {
	Time   int64
	Filter string
	// Sequence spares messages from this one on.
	Sequence uint64
	// Keep spares this many of the newest.
	Keep uint64
}

// Kind returns KindPurge.
func (*Purge) Kind() Kind { return KindPurge }

// At returns the time.
func (c *Purge) At() int64 { return c.Time }

func (c *Purge) encode(out []byte) []byte {
	out = codec.AppendInt(out, c.Time)
	out = codec.AppendBytes(out, c.Filter)
	out = codec.AppendUint(out, c.Sequence)
	return codec.AppendUint(out, c.Keep)
}

func (c *Purge) decode(r *codec.Reader) {
	c.Time, c.Filter, c.Sequence, c.Keep = r.Int(), r.String(), r.Uint(), r.Uint()
}

// Expire asks to remove what is too old at Time, by the age of the stream or by its own TTL.
type Expire struct {
	Time int64
	// Max bounds how many messages this command removes, so that one command does not hold up
	// others. Zero is the default of package jetlog.
	Max uint64
}

// Kind returns KindExpire.
func (*Expire) Kind() Kind { return KindExpire }

// At returns the time.
func (c *Expire) At() int64 { return c.Time }

func (c *Expire) encode(out []byte) []byte {
	return codec.AppendUint(codec.AppendInt(out, c.Time), c.Max)
}

func (c *Expire) decode(r *codec.Reader) { c.Time, c.Max = r.Int(), r.Uint() }

// Continue asks to go on with what earlier commands have left to be done.
type Continue struct {
	Time int64
}

// Kind returns KindContinue.
func (*Continue) Kind() Kind { return KindContinue }

// At returns the time.
func (c *Continue) At() int64 { return c.Time }

func (c *Continue) encode(out []byte) []byte { return codec.AppendInt(out, c.Time) }

func (c *Continue) decode(r *codec.Reader) { c.Time = r.Int() }

// Configure gives the stream another configuration, normalised already.
type Configure struct {
	Time   int64
	Config config.Stream
}

// Kind returns KindConfigure.
func (*Configure) Kind() Kind { return KindConfigure }

// At returns the time.
func (c *Configure) At() int64 { return c.Time }

func (c *Configure) encode(out []byte) []byte {
	return AppendConfig(codec.AppendInt(out, c.Time), &c.Config)
}

func (c *Configure) decode(r *codec.Reader) {
	c.Time = r.Int()
	ReadConfig(r, &c.Config)
}

// AppendConfig appends a configuration as JSON with its length in front. Configurations grow by
// fields that mean nothing when they are absent, which JSON carries without a version.
func AppendConfig(out []byte, value any) []byte {
	b, err := json.Marshal(value)
	if err != nil {
		// Only a policy that has no name cannot be written. It is written as nothing, which no
		// reader accepts.
		b = nil
	}
	return codec.AppendBytes(out, b)
}

// ReadConfig reads what AppendConfig wrote. Members that this program does not know are damage: what
// they ask for cannot be left out silently.
func ReadConfig(r *codec.Reader, value any) {
	b := r.Bytes()
	if r.Err() == nil && strictDecode(b, value) != nil {
		r.Fail("a configuration is not readable")
	}
}
