package wire

import "strconv"

// Verb says what kind of frame was read.
type Verb uint8

// The verbs that a client may send. Verbs that only servers send (MSG, RS+, LMSG ...) are no part of the
// client protocol and make [Parser.Next] fail with [ErrUnknownOperation].
const (
	VerbNone Verb = iota
	VerbPub
	VerbHPub
	VerbSub
	VerbUnsub
	VerbConnect
	VerbPing
	VerbPong
	VerbInfo
	VerbOK
	VerbErr
)

var verbNames = [...]string{"", "PUB", "HPUB", "SUB", "UNSUB", "CONNECT", "PING", "PONG", "INFO", "+OK", "-ERR"}

// String is the verb as written on the wire.
func (v Verb) String() string {
	if int(v) < len(verbNames) {
		return verbNames[v]
	}
	return "?"
}

// Frame is one parsed protocol operation. Which fields are set depends on the verb; see each field.
// Its slices point into the parsed buffer (package comment, Ownership).
type Frame struct {
	Verb Verb

	// Subject of PUB, HPUB and SUB, as sent: not validated.
	Subject []byte
	// Reply of PUB and HPUB; nil when there is none.
	Reply []byte
	// Queue is the queue group of SUB; nil when there is none.
	Queue []byte
	// SID of SUB and UNSUB.
	SID []byte
	// Args is the argument text of CONNECT, INFO and -ERR, trimmed.
	Args []byte

	// Tail of PUB and HPUB: "[reply ]sizes CRLF payload CRLF", what follows the subject in every delivery.
	Tail []byte
	// HeaderBytes is the length of the header block of HPUB at the start of the body.
	HeaderBytes int
	// BodyBytes is the length of header block and payload together.
	BodyBytes int

	// Max is the argument of UNSUB: deliveries since SUB after which it ends; 0 means now.
	Max int
}

// Line is what a client has sent, for logs: the verb and its arguments. Those of CONNECT are left out, since there are
// secrets among them.
func (f *Frame) Line() string {
	line := f.Verb.String()
	switch f.Verb {
	case VerbPub, VerbHPub:
		line += " " + string(f.Subject)
		if f.Reply != nil {
			line += " " + string(f.Reply)
		}
		if f.Verb == VerbHPub {
			line += " " + strconv.Itoa(f.HeaderBytes)
		}
		line += " " + strconv.Itoa(f.BodyBytes)
	case VerbSub:
		line += " " + string(f.Subject)
		if f.Queue != nil {
			line += " " + string(f.Queue)
		}
		line += " " + string(f.SID)
	case VerbUnsub:
		line += " " + string(f.SID)
		if f.Max > 0 {
			line += " " + strconv.Itoa(f.Max)
		}
	}
	return line
}

// Body is header block and payload of PUB and HPUB.
func (f *Frame) Body() []byte {
	end := len(f.Tail) - 2
	return f.Tail[end-f.BodyBytes : end : end]
}

// Header is the header block of HPUB with its closing blank line; empty otherwise.
func (f *Frame) Header() []byte { return f.Body()[:f.HeaderBytes:f.HeaderBytes] }

// Payload is the body without the header block.
func (f *Frame) Payload() []byte { return f.Body()[f.HeaderBytes:] }
