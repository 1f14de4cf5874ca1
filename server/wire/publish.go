package wire

import "strconv"

// pub parses "PUB subject [reply ]size CRLF payload CRLF" in one pass. Anything unusual in the line is
// left to control, which is slower and complete.
func (p *Parser) pub(b []byte, f *Frame) (int, error) {
	const start = 4
	i := token(b, start)
	if i == len(b) {
		return p.partialLine(b, start-1)
	}
	if b[i] != ' ' || i == start {
		return p.control(b, f)
	}
	tail := i + 1
	size, i, ok := digits(b, tail)
	reply := []byte(nil)
	if !ok && i < len(b) {
		end := token(b, tail)
		if end == len(b) {
			return p.partialLine(b, start-1)
		}
		if b[end] != ' ' || end == tail {
			return p.control(b, f)
		}
		reply = b[tail:end:end]
		size, i, ok = digits(b, end+1)
	}
	if i >= len(b)-1 {
		return p.partialLine(b, start-1)
	}
	if !ok || b[i] != '\r' || b[i+1] != '\n' {
		return p.control(b, f)
	}
	if i-start > p.ControlLineBytes {
		return 0, ErrControlLine
	}
	f.Subject = b[start : tail-1 : tail-1]
	return p.body(b, f, VerbPub, tail, i+2, reply, 0, size)
}

// hpub is pub for "HPUB subject [reply ]header total CRLF header block, payload CRLF".
func (p *Parser) hpub(b []byte, f *Frame) (int, error) {
	const start = 5
	i := token(b, start)
	if i == len(b) {
		return p.partialLine(b, start-1)
	}
	if b[i] != ' ' || i == start {
		return p.control(b, f)
	}
	tail := i + 1
	reply := []byte(nil)
	header, i, ok := digits(b, tail)
	if i < len(b) && (!ok || b[i] != ' ') {
		end := token(b, tail)
		if end == len(b) {
			return p.partialLine(b, start-1)
		}
		if b[end] != ' ' || end == tail {
			return p.control(b, f)
		}
		reply = b[tail:end:end]
		header, i, ok = digits(b, end+1)
	}
	if i >= len(b)-1 {
		return p.partialLine(b, start-1)
	}
	if !ok || b[i] != ' ' || header == 0 {
		return p.control(b, f)
	}
	size, i, ok := digits(b, i+1)
	if i >= len(b)-1 {
		return p.partialLine(b, start-1)
	}
	if !ok || b[i] != '\r' || b[i+1] != '\n' {
		return p.control(b, f)
	}
	if i-start > p.ControlLineBytes {
		return 0, ErrControlLine
	}
	f.Subject = b[start : tail-1 : tail-1]
	return p.body(b, f, VerbHPub, tail, i+2, reply, header, size)
}

// token returns where the token that begins at i ends: the next byte that is a blank or a control
// character, or len(b).
func token(b []byte, i int) int {
	for i < len(b) && b[i] > ' ' {
		i++
	}
	return i
}

// digits reads a canonical decimal (no sign, no leading zero, at most nine digits) at i. It returns the
// value and the place after it; ok is false when there is none, and then the place is that of the byte
// that does not fit.
func digits(b []byte, i int) (value, end int, ok bool) {
	start := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		value = value*10 + int(b[i]-'0')
		i++
		if i-start > 9 {
			return 0, i, false
		}
	}
	if i == start || (b[start] == '0' && i-start > 1) {
		return 0, i, false
	}
	return value, i, i == len(b) || b[i] <= ' '
}

// body checks the sizes and takes the payload that begins at payload; tail is where the frame's tail does.
func (p *Parser) body(b []byte, f *Frame, verb Verb, tail, payload int, reply []byte, header, size int) (int, error) {
	if size > p.PayloadBytes {
		return 0, ErrPayload
	}
	if header > size {
		return 0, ErrHPubArguments
	}
	end := payload + size + 2
	if len(b) < end {
		p.need = end
		return 0, nil
	}
	if b[end-2] != '\r' || b[end-1] != '\n' {
		return 0, ErrUnknownOperation
	}
	f.Verb = verb
	f.Reply = reply
	f.HeaderBytes = header
	f.BodyBytes = size
	f.Tail = b[tail:end:end]
	return end, nil
}

// oddPub parses PUB and HPUB whose line (args, ending before payload) is legal but not canonical, and builds
// a canonical tail in new memory. HPUB without a header block becomes PUB: nobody could parse HMSG with none.
func (p *Parser) oddPub(b []byte, payload int, args []byte, f *Frame) (int, error) {
	verb, sizes, malformed := f.Verb, 1, ErrPubArguments
	if verb == VerbHPub {
		sizes, malformed = 2, ErrHPubArguments
	}
	var tok [4][]byte
	n := split(args, &tok)
	if n != 1+sizes && n != 2+sizes {
		return 0, malformed
	}
	var reply []byte
	if n == 2+sizes {
		reply = tok[1]
	}
	header, headerOK := 0, true
	if verb == VerbHPub {
		header, headerOK = number(tok[n-2])
	}
	size, ok := number(tok[n-1])
	if !ok || !headerOK || token(tok[0], 0) < len(tok[0]) || token(reply, 0) < len(reply) {
		return 0, malformed // also a control character inside a subject, which no delivery could carry
	}
	length, err := p.body(b, f, verb, payload, payload, reply, header, size)
	if length == 0 || err != nil {
		return 0, err
	}
	f.Subject = tok[0]
	if header == 0 {
		f.Verb = VerbPub
	}
	line := make([]byte, 0, len(reply)+24+len(f.Tail))
	if reply != nil {
		line = append(append(line, reply...), ' ')
		f.Reply = line[:len(reply):len(reply)]
	}
	if f.Verb == VerbHPub {
		line = append(strconv.AppendInt(line, int64(header), 10), ' ')
	}
	line = append(strconv.AppendInt(line, int64(size), 10), "\r\n"...)
	f.Tail = append(line, f.Tail...)
	return length, nil
}
