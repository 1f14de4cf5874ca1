// Package frames turns what servers say to one another on a route into bytes and back.
//
// A frame is one byte for its kind, the length of its body in four bytes, and the body. Numbers are big endian. A kind
// that is not known is skipped, so that servers of different versions get along.
//
//	account   number(4) name                                what the number means in what follows
//	interest  number(4) weight(4) subject length(4) subject queue   weight 0: not any more
//	forget    number(4)                                     there is no interest in the account any more
//	ask       number(4)                                     all interest in the account is to be told again
//	fence     number(4)                                     to be answered by heard, with the same number
//	heard     number(4)                                     what follows was sent after that fence had come
//	message   flags(1) number(4), six lengths(4 each), queues subject told tail
//
// Accounts are numbered by who wants to be sent messages: who sends one uses the number of the receiver, which so finds
// the account without looking for its name.
//
// A message has the tail of the client protocol as it was published, "[reply ][header size ]size CRLF body CRLF", since that is
// what subscribers are sent too. The lengths are those of queues, subject, told, reply, header block and body. Queues are
// the groups of which one member gets it, each with its length (2) before it. Told is the subject that subscribers are
// told, where that is not the one by which they are found.
package frames

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"
)

// Kind says what a frame is.
type Kind uint8

// The kinds of frames.
const (
	Account Kind = iota + 1
	Interest
	Forget
	Ask
	Message
	Fence
	Heard
)

// Flags of a message.
const (
	// Service: a request to a service of the account, which does not go on into accounts that import streams.
	Service = 1 << iota
	// Again: it was for a queue group that had no member any more where it came first. It goes no further.
	Again
)

const (
	headBytes = 5 // kind and length
	// MessageBytes is how long a message is besides its texts and its tail.
	MessageBytes = headBytes + 5 + 6*4
	// smallMax bounds the bodies of all frames but messages, messageMax those of messages: beyond, the peer has lost the
	// thread.
	smallMax   = 1 << 20
	messageMax = 1 << 29
	queueMax   = math.MaxUint16
)

// ErrMalformed says that what came is no frame.
var ErrMalformed = errors.New("a frame between servers is malformed")

// Frame is one frame. Its slices point to what was parsed.
type Frame struct {
	Kind   Kind
	Number uint32 // of the account, or of the fence
	// Name of Account.
	Name []byte
	// Weight, Subject and Queue of Interest.
	Weight  uint32
	Subject []byte // of Message too
	Queue   []byte

	// Of Message only. Queues is to be read by [CutQueue].
	Flags                  uint8
	Queues, Told           []byte
	Reply, Tail            []byte // Tail begins with Reply
	HeaderBytes, BodyBytes int
}

// Next parses the first frame of b into f and returns its length; 0 when it is not complete, and then how long b must be at
// least, or 0 when that is not known. A frame of a kind that is not known leaves Kind as it came and nothing else.
func Next(b []byte, f *Frame) (n, need int, err error) {
	if len(b) < headBytes {
		return 0, 0, nil
	}
	size := int(binary.BigEndian.Uint32(b[1:]))
	kind := Kind(b[0])
	if limit := limitOf(kind); size > limit {
		return 0, 0, ErrMalformed
	}
	n = headBytes + size
	if len(b) < n {
		return 0, n, nil
	}
	*f = Frame{Kind: kind}
	if !f.parse(b[headBytes:n:n]) {
		return 0, 0, ErrMalformed
	}
	return n, 0, nil
}

func limitOf(k Kind) int {
	if k == Message || k > Heard {
		return messageMax
	}
	return smallMax
}

// parse tells whether body is one of the frame's kind.
func (f *Frame) parse(body []byte) bool {
	switch f.Kind {
	case Message:
		return f.parseMessage(body)
	case Account, Interest, Forget, Ask, Fence, Heard:
	default:
		return true
	}
	if len(body) < 4 {
		return false
	}
	f.Number, body = binary.BigEndian.Uint32(body), body[4:]
	switch f.Kind {
	case Account:
		f.Name = body
		return len(body) > 0
	case Interest:
		return f.parseInterest(body)
	}
	return true
}

func (f *Frame) parseInterest(body []byte) bool {
	if len(body) < 8 {
		return false
	}
	f.Weight = binary.BigEndian.Uint32(body)
	length := binary.BigEndian.Uint32(body[4:])
	body = body[8:]
	if uint64(length) > uint64(len(body)) || length == 0 {
		return false
	}
	f.Subject, f.Queue = body[:length:length], body[length:]
	return true
}

func (f *Frame) parseMessage(body []byte) bool {
	if len(body) < MessageBytes-headBytes {
		return false
	}
	f.Flags, f.Number = body[0], binary.BigEndian.Uint32(body[1:])
	var lengths [6]int
	sum := 0
	for i := range lengths {
		lengths[i] = int(binary.BigEndian.Uint32(body[5+4*i:]))
		if lengths[i] > messageMax {
			return false
		}
		sum += lengths[i]
	}
	body = body[MessageBytes-headBytes:]
	if lengths[1] == 0 || sum-lengths[4] > len(body) {
		return false
	}
	cut := func(n int) (part []byte) {
		part, body = body[:n:n], body[n:]
		return part
	}
	f.Queues, f.Subject, f.Told = cut(lengths[0]), cut(lengths[1]), cut(lengths[2])
	f.Tail, f.HeaderBytes, f.BodyBytes = body, lengths[4], lengths[5]
	return f.parseTail(lengths[3])
}

// parseTail tells whether the tail is what it has to be, since it is sent on to clients.
func (f *Frame) parseTail(replyBytes int) bool {
	line := len(f.Tail) - f.BodyBytes - 4 // without the ends of both lines
	if line < 1 || f.HeaderBytes > f.BodyBytes {
		return false
	}
	if string(f.Tail[line:line+2]) != "\r\n" || string(f.Tail[len(f.Tail)-2:]) != "\r\n" {
		return false
	}
	sizes := f.Tail[:line]
	if replyBytes > 0 {
		if replyBytes >= line || sizes[replyBytes] != ' ' {
			return false
		}
		f.Reply, sizes = sizes[:replyBytes:replyBytes], sizes[replyBytes+1:]
	}
	if f.HeaderBytes == 0 {
		return isNumber(sizes, f.BodyBytes)
	}
	for i, c := range sizes {
		if c == ' ' {
			return isNumber(sizes[:i], f.HeaderBytes) && isNumber(sizes[i+1:], f.BodyBytes)
		}
	}
	return false
}

// isNumber tells whether text is n, as it is written.
func isNumber(text []byte, n int) bool {
	if len(text) == 0 || len(text) > 10 || text[0] == '0' && len(text) > 1 {
		return false
	}
	got := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
		got = 10*got + int(c-'0')
	}
	return got == n
}

// CutQueue returns the first queue group of a message and the others; false when there is none.
func CutQueue(queues []byte) (name, others []byte, ok bool) {
	if len(queues) < 2 {
		return nil, nil, false
	}
	n := 2 + int(binary.BigEndian.Uint16(queues))
	if n > len(queues) {
		return nil, nil, false
	}
	return queues[2:n:n], queues[n:], true
}

// AppendQueue adds a queue group to those of a message. It adds nothing, and is false, for a name that is too long.
func AppendQueue(b []byte, name string) ([]byte, bool) {
	if len(name) > queueMax {
		return b, false
	}
	return append(binary.BigEndian.AppendUint16(b, uint16(len(name))), name...), true
}

// AppendAccount appends an account frame.
func AppendAccount(b []byte, number uint32, name string) []byte {
	b = appendHead(b, Account, 4+len(name))
	return append(binary.BigEndian.AppendUint32(b, number), name...)
}

// AppendInterest appends an interest frame. It appends nothing for texts that are too long.
func AppendInterest(b []byte, number uint32, subject, queue string, weight int) []byte {
	size := 12 + len(subject) + len(queue)
	if size > smallMax {
		return b
	}
	b = appendHead(b, Interest, size)
	b = binary.BigEndian.AppendUint32(b, number)
	b = binary.BigEndian.AppendUint32(b, uint32(min(int64(weight), math.MaxUint32)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(subject)))
	return append(append(b, subject...), queue...)
}

// AppendNumber appends a frame that has nothing but a number.
func AppendNumber(b []byte, k Kind, number uint32) []byte {
	return binary.BigEndian.AppendUint32(appendHead(b, k, 4), number)
}

// Head is what a message says before its tail.
type Head struct {
	Number uint32
	Flags  uint8
	// Queues was made by [AppendQueue]. Told is empty when it is the subject.
	Queues, Subject, Told []byte
	// ReplyBytes, HeaderBytes and BodyBytes are what the tail, which has TailBytes, consists of.
	ReplyBytes, HeaderBytes, BodyBytes, TailBytes int
}

// Append appends the message up to its tail, which has to follow.
func (h *Head) Append(b []byte) []byte {
	b = appendHead(b, Message, MessageBytes-headBytes+len(h.Queues)+len(h.Subject)+len(h.Told)+h.TailBytes)
	b = binary.BigEndian.AppendUint32(append(b, h.Flags), h.Number)
	for _, n := range [...]int{len(h.Queues), len(h.Subject), len(h.Told), h.ReplyBytes, h.HeaderBytes, h.BodyBytes} {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return append(append(append(b, h.Queues...), h.Subject...), h.Told...)
}

func appendHead(b []byte, k Kind, size int) []byte {
	return binary.BigEndian.AppendUint32(append(b, byte(k)), uint32(size))
}

// String names the kind.
func (k Kind) String() string {
	names := [...]string{Account: "account", Interest: "interest", Forget: "forget", Ask: "ask", Message: "message"}
	if k > 0 && int(k) < len(names) {
		return names[k]
	}
	return "kind " + strconv.Itoa(int(k))
}
