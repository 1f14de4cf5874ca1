package wire

import "bytes"

// Limits bound what a peer may send. Both count bytes.
type Limits struct {
	ControlLineBytes int // arguments of a control line, verb excluded
	PayloadBytes     int // header block and payload of one message
}

// Parser reads frames. It keeps no bytes of a peer between calls, so that one parser serves many
// connections in turn. It is not safe for concurrent use.
type Parser struct {
	Limits
	// need is how long the buffer must be for the frame that was incomplete; 0 when unknown.
	need int
}

// Need is the length that the buffer must reach before [Parser.Next] can succeed, as far as the last
// incomplete frame told; 0 when it did not. It never exceeds the limits by more than a control line.
func (p *Parser) Need() int { return p.need }

// Next parses the first frame of b into f and returns its length in bytes. A length of 0 without an error
// means that b holds no complete frame yet. An error is always an [*Error] and ends the connection.
// Only what the verb defines is written to f.
func (p *Parser) Next(b []byte, f *Frame) (int, error) {
	p.need = 0
	if len(b) >= 5 {
		// The fast lane: messages in canonical spacing. Folding bit 5 makes the letters upper case.
		if b[3] == ' ' && b[0]&^0x20 == 'P' && b[1]&^0x20 == 'U' && b[2]&^0x20 == 'B' {
			return p.pub(b, f)
		}
		if b[4] == ' ' && b[0]&^0x20 == 'H' && b[1]&^0x20 == 'P' && b[2]&^0x20 == 'U' && b[3]&^0x20 == 'B' {
			return p.hpub(b, f)
		}
	}
	return p.control(b, f)
}

// verbs in the order in which a prefix of the input is compared with them.
var verbs = [...]Verb{
	VerbPub, VerbPing, VerbPong, VerbSub, VerbUnsub, VerbHPub, VerbConnect, VerbInfo, VerbOK, VerbErr,
}

// matchVerb finds the verb that b begins with. VerbNone with ok means that more bytes are needed.
func matchVerb(b []byte) (v Verb, ok bool) {
	for _, v := range verbs {
		name := verbNames[v]
		n := min(len(name), len(b))
		if !foldEqual(b[:n], name[:n]) {
			continue
		}
		if n == len(name) {
			return v, true
		}
		ok = true
	}
	return VerbNone, ok
}

func foldEqual(b []byte, upper string) bool {
	for i := range len(upper) {
		c := b[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != upper[i] {
			return false
		}
	}
	return true
}

// lineExtra is what a line without its LF has besides the verb and the argument text: one separator and a CR.
// Further blanks around the arguments count, so that a line is judged alike however it arrives.
const lineExtra = 2

// partialLine is the answer to a line whose end has not come yet; the verb ends before start.
func (p *Parser) partialLine(b []byte, start int) (int, error) {
	if len(b)-start > p.ControlLineBytes+lineExtra {
		return 0, ErrControlLine
	}
	return 0, nil
}

// control parses everything that is not on the fast lane.
func (p *Parser) control(b []byte, f *Frame) (int, error) {
	verb, ok := matchVerb(b)
	if !ok {
		return 0, ErrUnknownOperation
	}
	if verb == VerbNone {
		return 0, nil
	}
	start := len(verbNames[verb])
	if start == len(b) {
		return 0, nil
	}
	if c := b[start]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
		return 0, ErrUnknownOperation
	}
	nl := bytes.IndexByte(b[start:], '\n')
	if nl < 0 {
		return p.partialLine(b, start)
	}
	args := bytes.Trim(b[start:start+nl], " \t\r")
	if len(args) > p.ControlLineBytes || nl > p.ControlLineBytes+lineExtra {
		return 0, ErrControlLine
	}
	f.Verb = verb
	end := start + nl + 1
	switch verb {
	case VerbPub, VerbHPub:
		return p.oddPub(b, end, args, f)
	case VerbSub:
		return end, parseSub(args, f)
	case VerbUnsub:
		return end, parseUnsub(args, f)
	default:
		f.Args = args[:len(args):len(args)]
		return end, nil
	}
}

func parseSub(args []byte, f *Frame) error {
	var token [4][]byte
	switch split(args, &token) {
	case 2:
		f.Subject, f.Queue, f.SID = token[0], nil, token[1]
	case 3:
		f.Subject, f.Queue, f.SID = token[0], token[1], token[2]
	default:
		return ErrSubArguments
	}
	return nil
}

func parseUnsub(args []byte, f *Frame) error {
	var token [4][]byte
	f.Max = 0
	switch split(args, &token) {
	case 1:
	case 2:
		n, ok := number(token[1])
		if !ok {
			return ErrUnsubArguments
		}
		f.Max = n
	default:
		return ErrUnsubArguments
	}
	f.SID = token[0]
	return nil
}

// split cuts args at runs of blanks and tabs and returns the number of tokens; more than fit are counted
// as one too many.
func split(args []byte, token *[4][]byte) int {
	n := 0
	for i := 0; i < len(args); {
		if args[i] == ' ' || args[i] == '\t' {
			i++
			continue
		}
		start := i
		for i < len(args) && args[i] != ' ' && args[i] != '\t' {
			i++
		}
		if n == len(token) {
			return n + 1
		}
		token[n] = args[start:i:i]
		n++
	}
	return n
}

// numberMax is what a decimal of any length is cut at: far above every limit, far below an overflow.
const numberMax = 1 << 30

// number parses a decimal without sign. A value above numberMax is returned as numberMax, so that a size
// that fits no machine word is still known to be too large.
func number(b []byte) (int, bool) {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n > numberMax/10 {
			n = numberMax // and not ten times that, which an int may not hold
			continue
		}
		n = min(n*10+int(c-'0'), numberMax)
	}
	return n, len(b) > 0
}
