package command

import "runnel/jetlog/codec"

// Batch asks to store several messages, all or none, with sequences in a row.
type Batch struct {
	Time int64
	// Members are in their order. The time of the batch is that of each.
	Members []Publish
}

// memberBytes is the least that a member of a batch takes.
const memberBytes = 4

// Kind returns KindBatch.
func (*Batch) Kind() Kind { return KindBatch }

// At returns the time.
func (c *Batch) At() int64 { return c.Time }

func (c *Batch) encode(out []byte) []byte {
	out = codec.AppendInt(out, c.Time)
	out = codec.AppendUint(out, uint64(len(c.Members)))
	for i := range c.Members {
		out = c.Members[i].encodeMessage(out)
	}
	return out
}

func (c *Batch) decode(r *codec.Reader) {
	c.Time = r.Int()
	c.Members = make([]Publish, r.Count(memberBytes))
	for i := range c.Members {
		c.Members[i].Time = c.Time
		c.Members[i].decodeMessage(r)
	}
}

// Copied is a message as it is in another stream.
type Copied struct {
	// Sequence and Time are those of the original.
	Sequence uint64
	Time     int64
	Subject  string
	Header   []byte
	Payload  []byte
	// Fire is when the schedule in the header is due next, 0 when it is none that should be kept.
	Fire int64
}

// copiedBytes is the least that a copied message takes.
const copiedBytes = 6

// Copy asks to store messages with the sequences and times that they have in another stream: a mirror's
// origin, or a backup. Sequences between them are passed over.
type Copy struct {
	Time int64
	// From is the next sequence of the stream when the messages were chosen. If it is not that when the
	// command is applied, nothing is stored.
	From uint64
	// Through is the sequence up to which there is nothing else to copy, 0 for that of the last
	// message. The stream goes on behind it, as if what was passed over last had come at Time.
	Through  uint64
	Messages []Copied
}

// Kind returns KindCopy.
func (*Copy) Kind() Kind { return KindCopy }

// At returns the time.
func (c *Copy) At() int64 { return c.Time }

func (c *Copy) encode(out []byte) []byte {
	out = codec.AppendInt(out, c.Time)
	out = codec.AppendUint(out, c.From)
	out = codec.AppendUint(out, c.Through)
	out = codec.AppendUint(out, uint64(len(c.Messages)))
	for i := range c.Messages {
		m := &c.Messages[i]
		out = codec.AppendUint(out, m.Sequence)
		out = codec.AppendInt(out, m.Time)
		out = codec.AppendBytes(out, m.Subject)
		out = codec.AppendBytes(out, m.Header)
		out = codec.AppendBytes(out, m.Payload)
		out = codec.AppendInt(out, m.Fire)
	}
	return out
}

func (c *Copy) decode(r *codec.Reader) {
	c.Time, c.From, c.Through = r.Int(), r.Uint(), r.Uint()
	c.Messages = make([]Copied, r.Count(copiedBytes))
	for i := range c.Messages {
		c.Messages[i] = Copied{
			Sequence: r.Uint(), Time: r.Int(), Subject: r.String(), Header: r.Bytes(), Payload: r.Bytes(), Fire: r.Int(),
		}
	}
}

// Fire asks to store what a schedule has come to, and to set the schedule to its next time.
type Fire struct {
	Time int64
	// Schedule is the subject of the message with the schedule, Sequence is its sequence, and Due is the
	// time for which it fires. If the stream has another schedule or another time by then, nothing is
	// done.
	Schedule string
	Sequence uint64
	Due      int64
	// Next is when it fires again, 0 for never: then the message with the schedule goes.
	Next int64
	// Subject, Header and Payload are what is to be stored.
	Subject string
	Header  []byte
	Payload []byte
}

// Kind returns KindFire.
func (*Fire) Kind() Kind { return KindFire }

// At returns the time.
func (c *Fire) At() int64 { return c.Time }

func (c *Fire) encode(out []byte) []byte {
	out = codec.AppendInt(out, c.Time)
	out = codec.AppendBytes(out, c.Schedule)
	out = codec.AppendUint(out, c.Sequence)
	out = codec.AppendInt(out, c.Due)
	out = codec.AppendInt(out, c.Next)
	out = codec.AppendBytes(out, c.Subject)
	out = codec.AppendBytes(out, c.Header)
	return codec.AppendBytes(out, c.Payload)
}

func (c *Fire) decode(r *codec.Reader) {
	c.Time, c.Schedule, c.Sequence, c.Due, c.Next = r.Int(), r.String(), r.Uint(), r.Int(), r.Int()
	c.Subject, c.Header, c.Payload = r.String(), r.Bytes(), r.Bytes()
}
