package api

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

// PullRequest is what the body of a pull request asks for.
type PullRequest struct {
	// Batch is how many messages, at least 1.
	Batch int `json:"batch"`
	// MaxBytes bounds their size, 0 for no bound.
	MaxBytes int `json:"max_bytes"`
	// Expires is how long the request waits, 0 for as long as somebody listens.
	Expires time.Duration `json:"expires"`
	// NoWait wants an answer at once, unless Expires is set too.
	NoWait bool `json:"no_wait"`
	// Heartbeat is how often a request that waits is told so, 0 for never; at most half of Expires.
	Heartbeat time.Duration `json:"idle_heartbeat"`
	// Group is the priority group. MinPending and MinAckPending are from how much on an overflow consumer serves the
	// request, ID is of the client that is pinned, Priority is less for who is served first.
	Group         string `json:"group"`
	MinPending    int64  `json:"min_pending"`
	MinAckPending int64  `json:"min_ack_pending"`
	ID            string `json:"id"`
	Priority      int    `json:"priority"`
}

// ParsePull reads the body of a pull request: nothing, a number, or an object, in which unknown members mean nothing.
// The text of an error is what BadRequest wants. A common body costs no allocation but for the texts in it.
func ParsePull(body []byte) (PullRequest, error) {
	var r PullRequest
	body = bytes.Trim(body, blanks)
	switch {
	case len(body) == 0:
	case body[0] != '{':
		batch, ok := quickNumber(body)
		if !ok {
			return PullRequest{}, fmt.Errorf("batch is not a number: %q", short(string(body)))
		}
		r.Batch = int(batch)
	case !r.quick(body):
		var err error
		if r, err = decodePull(body); err != nil {
			return PullRequest{}, err
		}
	}
	if err := r.check(); err != nil {
		return PullRequest{}, err
	}
	r.Batch = max(r.Batch, 1)
	return r, nil
}

// decodePull reads any object. It is apart so that only it allocates.
func decodePull(body []byte) (PullRequest, error) {
	var r PullRequest
	if err := decode(body, &r, false); err != nil {
		return PullRequest{}, errors.New(short(err.Error()))
	}
	return r, nil
}

// check refuses what makes no sense for any consumer.
func (r *PullRequest) check() error {
	switch {
	case r.Batch < 0 || int64(r.Batch) > maxBatch:
		return errors.New("batch is out of range")
	case r.MaxBytes < 0:
		return errors.New("max_bytes is negative")
	case r.Expires < 0:
		return errors.New("expires is negative")
	case r.Heartbeat < 0:
		return errors.New("idle_heartbeat is negative")
	case r.MinPending < 0 || r.MinAckPending < 0:
		return errors.New("min_pending or min_ack_pending is negative")
	case r.Heartbeat > r.Expires/2:
		return errors.New("heartbeat value too large")
	}
	return nil
}

// maxBatch is more than anybody can ask for in earnest; counting on from it is safe.
const maxBatch = 1<<31 - 1

// quick reads an object of the usual kind: members of the request only, each once, with whole numbers and plain
// texts. Of everything else it says false, and has perhaps set some of r.
func (r *PullRequest) quick(body []byte) bool {
	q := quickReader{left: body[1:]}
	for seen := 0; ; {
		name, ok := q.text()
		if !ok || !q.is(':') {
			return false
		}
		bit, ok := r.member(&q, string(name))
		if !ok || seen&bit != 0 {
			return false
		}
		seen |= bit
		if q.is('}') {
			return q.next() == 0
		}
		if !q.is(',') {
			return false
		}
	}
}

// member reads the value of a member and returns a bit for the member. Conversions of name do not allocate here,
// since none of it is kept.
func (r *PullRequest) member(q *quickReader, name string) (bit int, ok bool) {
	var n int64
	switch name {
	case "batch":
		n, ok = q.number()
		r.Batch = int(n)
		return 1, ok && n <= maxBatch
	case "max_bytes":
		n, ok = q.number()
		r.MaxBytes = int(n)
		return 2, ok && n <= maxBatch
	case "expires":
		n, ok = q.number()
		r.Expires = time.Duration(n)
		return 4, ok
	case "no_wait":
		r.NoWait, ok = q.boolean()
		return 8, ok
	case "idle_heartbeat":
		n, ok = q.number()
		r.Heartbeat = time.Duration(n)
		return 16, ok
	case "group":
		text, ok := q.text()
		r.Group = string(text)
		return 32, ok
	case "id":
		text, ok := q.text()
		r.ID = string(text)
		return 64, ok
	case "priority":
		n, ok = q.number()
		r.Priority = int(n)
		return 128, ok && n <= maxBatch
	case "min_pending":
		r.MinPending, ok = q.number()
		return 256, ok
	case "min_ack_pending":
		r.MinAckPending, ok = q.number()
		return 512, ok
	}
	return 0, false
}

// quickReader reads the plainest JSON.
type quickReader struct{ left []byte }

// next returns the next byte that is no blank, 0 at the end.
func (q *quickReader) next() byte {
	for i, c := range q.left {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			q.left = q.left[i:]
			return c
		}
	}
	q.left = nil
	return 0
}

// is passes over c, if it is next.
func (q *quickReader) is(c byte) bool {
	if q.next() != c {
		return false
	}
	q.left = q.left[1:]
	return true
}

// text reads a text without escapes, in ASCII.
func (q *quickReader) text() ([]byte, bool) {
	if !q.is('"') {
		return nil, false
	}
	for i, c := range q.left {
		if c == '"' {
			text := q.left[:i]
			q.left = q.left[i+1:]
			return text, true
		}
		if c < ' ' || c > '~' || c == '\\' {
			return nil, false
		}
	}
	return nil, false
}

// number reads a whole number that is not negative.
func (q *quickReader) number() (int64, bool) {
	q.next()
	n := 0
	for n < len(q.left) && q.left[n] >= '0' && q.left[n] <= '9' {
		n++
	}
	digits := q.left[:n]
	q.left = q.left[n:]
	if n > 1 && digits[0] == '0' {
		return 0, false // not JSON
	}
	return quickNumber(digits)
}

// quickNumber returns the value of digits, of which there are few enough for any int64.
func quickNumber(digits []byte) (int64, bool) {
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// boolean reads true or false.
func (q *quickReader) boolean() (value, ok bool) {
	q.next()
	if rest, ok := bytes.CutPrefix(q.left, []byte("true")); ok {
		q.left = rest
		return true, true
	}
	rest, ok := bytes.CutPrefix(q.left, []byte("false"))
	q.left = rest
	return false, ok
}
