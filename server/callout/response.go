package callout

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// MaxAnswerBytes bounds an answer: no honest one is nearly as large.
const MaxAnswerBytes = 128 << 10

// What can be wrong with an answer. Errors wrap these, and contain neither token nor secret.
var (
	// ErrMalformed: it is not what a service answers, or its signature is not that of its issuer.
	ErrMalformed = errors.New("malformed answer")
	// ErrUntrusted: somebody has signed it who may not.
	ErrUntrusted = errors.New("answer of an issuer that is not trusted")
	// ErrMisdirected: it is for another login or another server.
	ErrMisdirected = errors.New("answer to another request")
	// ErrStale: it is not valid at this time.
	ErrStale = errors.New("answer is not valid now")
	// ErrRefused: the service does not want the client.
	ErrRefused = errors.New("refused by the service")
)

// Expectation is what an answer must meet.
type Expectation struct {
	// User is the key that the request was about, Server the public key of the server that has asked.
	User, Server string
	// Trusts tells whether an issuer may answer, account being what it says it signs for, mostly empty.
	Trusts func(issuer, account string) bool
	// Curve opens sealed answers, which XKey has sealed; without an XKey none is expected.
	Curve nkeys.KeyPair
	XKey  string
}

// sealedPrefix begins every sealed message. No JWT begins so.
const sealedPrefix = "xkv1"

// Read checks an answer and returns the user JWT in it, which is neither verified nor empty.
func (e *Expectation) Read(payload []byte, now time.Time) (userJWT string, err error) {
	if len(payload) > MaxAnswerBytes {
		return "", fmt.Errorf("%w: %d bytes, at most %d", ErrMalformed, len(payload), MaxAnswerBytes)
	}
	if strings.HasPrefix(string(payload[:min(len(payload), len(sealedPrefix))]), sealedPrefix) {
		if payload, err = e.open(payload); err != nil {
			return "", err
		}
	}
	token := string(payload)
	if strings.Count(token, ".") != 2 {
		return "", fmt.Errorf("%w: it is no JWT", ErrMalformed)
	}
	c, err := jwt.DecodeAuthorizationResponseClaims(token)
	if err != nil {
		return "", fmt.Errorf("%w: %s", ErrMalformed, short(err.Error()))
	}
	if err := e.check(c, now); err != nil {
		return "", err
	}
	if c.Error != "" {
		return "", fmt.Errorf("%w: %q", ErrRefused, short(c.Error))
	}
	return c.Jwt, nil
}

// open opens a sealed answer.
func (e *Expectation) open(payload []byte) ([]byte, error) {
	if e.XKey == "" {
		return nil, fmt.Errorf("%w: it is sealed, and no xkey of the service is known", ErrMalformed)
	}
	opened, err := e.Curve.Open(payload, e.XKey)
	if err != nil {
		return nil, fmt.Errorf("%w: it cannot be opened with the xkey of the service: %s", ErrMalformed, short(err.Error()))
	}
	return opened, nil
}

// check tells whether the answer is one to our request: who has signed it comes first, since nothing else that it says
// counts otherwise.
func (e *Expectation) check(c *jwt.AuthorizationResponseClaims, now time.Time) error {
	switch {
	case !e.Trusts(c.Issuer, c.IssuerAccount):
		return fmt.Errorf("%w: %s", ErrUntrusted, short(c.Issuer))
	case c.Subject != e.User:
		return fmt.Errorf("%w: its subject is not the user_nkey of the request", ErrMisdirected)
	case c.Audience != e.Server:
		return fmt.Errorf("%w: its audience is not this server", ErrMisdirected)
	case c.NotBefore > now.Unix():
		return fmt.Errorf("%w: not yet valid", ErrStale)
	case c.Expires > 0 && c.Expires <= now.Unix():
		return fmt.Errorf("%w: expired", ErrStale)
	case (c.Jwt == "") == (c.Error == ""):
		return fmt.Errorf("%w: either a user JWT or an error is expected", ErrMalformed)
	}
	return nil
}

// short cuts a text from the service to a length that suits a log line.
func short(s string) string {
	const longest = 256
	if len(s) > longest {
		return s[:longest] + "..."
	}
	return s
}
