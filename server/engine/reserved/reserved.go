// Package reserved knows the subjects that mean something to the server: which ones clients may not use, and which ones
// come in series that differ in their last tokens only.
package reserved

import (
	"bytes"

	"runnel/headers"
	"runnel/server/engine/replies"
)

const (
	// ackPrefix begins the subjects of acknowledgements.
	ackPrefix = "$JS.ACK."
	// gatewayPrefix begins the subjects that servers give to the replies of other clusters, raftPrefix those of their
	// own agreement.
	gatewayPrefix, raftPrefix = "_GR_.", "$NRG."
	// delayedPrefix begins the subjects of what a stream keeps for another one.
	delayedPrefix = "$RUNNEL.DELAYED."
)

// Reply tells whether subject is one for answers to a request of another account.
func Reply(subject []byte) bool { return begins(subject, replies.Prefix) }

// Ack tells whether subject is one for the acknowledgement of a stream's message.
func Ack(subject []byte) bool { return begins(subject, ackPrefix) }

// ackHeader is the header with the acknowledgement of another message, which takes effect together with the one that has it.
const ackHeader = "Runnel-Ack"

// Acknowledged returns the subject of the acknowledgement that a message with these headers is published with, nil for none.
func Acknowledged(header []byte) []byte {
	if !bytes.Contains(header, []byte(ackHeader)) {
		return nil
	}
	ack, ok := headers.Get(header, ackHeader)
	if ok && ack == nil {
		return []byte{}
	}
	return ack
}

// Publish tells whether clients may not publish to subject whatever their permissions say. It is not asked of what comes from elsewhere, which
// was allowed there, or is the server's own.
func Publish(subject []byte) bool {
	return begins(subject, gatewayPrefix) || begins(subject, raftPrefix) || begins(subject, delayedPrefix)
}

// AsReply tells whether no client may ask for answers on a subject, which is not empty: answers there would be taken for
// what the server makes itself.
func AsReply(subject []byte) bool {
	switch subject[0] {
	case '_':
		return begins(subject, replies.Prefix) || begins(subject, gatewayPrefix)
	case '$':
		return begins(subject, ackPrefix)
	}
	return false
}

func begins(subject []byte, prefix string) bool {
	return len(subject) >= len(prefix) && string(subject[:len(prefix)]) == prefix
}

// Series returns the part of a subject that it has in common with others: all but the last token; if below is true, all
// but several. Acknowledgements have four tokens in common, those of one consumer, and answers from other accounts three,
// those of one account. It is empty when there is no such part.
func Series(subject []byte) (prefix []byte, below bool) {
	switch {
	case Ack(subject):
		return twoTokens(subject, len(ackPrefix)), true
	case Reply(subject):
		return twoTokens(subject, len(replies.Prefix)), true
	}
	dot := bytes.LastIndexByte(subject, '.')
	if dot <= 0 || dot == len(subject)-1 {
		return nil, false
	}
	return subject[:dot+1], false
}

// twoTokens returns the beginning of a subject up to end, and two tokens more; nothing when that is all, or malformed.
func twoTokens(subject []byte, end int) []byte {
	for range 2 {
		next := bytes.IndexByte(subject[end:], '.') + 1
		if next == 0 {
			return nil
		}
		end += next
	}
	rest := subject[end:]
	if malformed := len(rest) == 0 || rest[0] == '.' || rest[len(rest)-1] == '.' || bytes.Contains(rest, []byte("..")); malformed {
		return nil
	}
	return subject[:end]
}
