package operator

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
)

const (
	// MaxAccountBytes bounds an account JWT: with thousands of exports and revocations it stays below.
	MaxAccountBytes = 1 << 20
	// MaxUserBytes bounds a user JWT, an operator JWT and an activation token.
	MaxUserBytes = 64 << 10
	// errorBytes bounds what an error repeats of what was wrong.
	errorBytes = 512
)

// decode reads a token of at most maxBytes with one of the decoders of the library, which check the signature and the
// kind of token.
func decode[C jwt.Claims](token string, maxBytes int, decoder func(string) (C, error)) (C, error) {
	var none C
	if len(token) > maxBytes {
		return none, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(token), maxBytes)
	}
	if strings.Count(token, ".") != 2 {
		return none, fmt.Errorf("%w: three parts are expected", ErrMalformed)
	}
	c, err := decoder(token)
	if err != nil {
		return none, fmt.Errorf("%w: %s", ErrMalformed, short(err.Error()))
	}
	return c, nil
}

// validate asks the library what makes no sense in the claims, but for their times.
func validate(c jwt.Claims) error {
	vr := jwt.CreateValidationResults()
	c.Validate(vr)
	var wrong []string
	for _, issue := range vr.Issues {
		if issue.Blocking && !issue.TimeCheck {
			wrong = append(wrong, issue.Description)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrClaims, short(strings.Join(wrong, "; ")))
}

// inTime checks the times of the claims. A token is good up to the second in which it expires.
func inTime(c *jwt.ClaimsData, now time.Time) error {
	switch {
	case c.NotBefore > now.Unix():
		return ErrNotYetValid
	case c.Expires > 0 && c.Expires <= now.Unix():
		return ErrExpired
	}
	return nil
}

// end is when the claims expire, zero when they do not.
func end(c *jwt.ClaimsData) time.Time {
	if c.Expires <= 0 {
		return time.Time{}
	}
	return time.Unix(c.Expires, 0)
}

// earlier is the earlier of two times, either of which may be zero for never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// short cuts a text to a length that suits a log line.
func short(s string) string {
	if len(s) > errorBytes {
		return s[:errorBytes] + "..."
	}
	return s
}
