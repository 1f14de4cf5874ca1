package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// ErrNoAPI is wrapped by the errors of what only a Runnel server can do, if the one that is connected with does not: it is
// another server, it has no JetStream, or the account may not use it.
var ErrNoAPI = errors.New("nobody answers $RUNNEL.API: this needs a Runnel server with JetStream, and an account and a user that may use it")

// ErrDenied is wrapped by the errors of what the user may not ask.
var ErrDenied = errors.New("the user may not ask that: it needs the permission to publish to")

// Error is what a server answers to a request that it refuses.
type Error struct {
	// Code identifies the reason, for ever: 10059 is a stream that there is not, 10014 such a consumer.
	Code int `json:"err_code"`
	// Status is the kind of reason, with the meaning of the numbers of HTTP.
	Status int `json:"code"`
	// Description is for people.
	Description string `json:"description"`
}

// Error returns the description with the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Description, e.Code) }

// ownPrefix begins the subjects of what only this server knows.
const ownPrefix = "$RUNNEL.API."

// askTime is how long an answer is waited for where the context has no end: what was asked of a server that dies is never answered.
const askTime = 5 * time.Second

// ask makes a request below ownPrefix, and decodes the answer.
func ask(ctx context.Context, nc *nats.Conn, subject string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return fmt.Errorf("request %s: %w", subject, err)
		}
	}
	if _, ends := ctx.Deadline(); !ends {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, askTime)
		defer cancel()
	}
	m, err := request(ctx, nc, ownPrefix+subject, text)
	if err != nil {
		return fmt.Errorf("request %s: %w", subject, err)
	}
	var refused struct {
		Error *Error `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &refused); err != nil {
		return fmt.Errorf("request %s: the answer is not JSON: %w", subject, err)
	}
	if refused.Error != nil {
		return fmt.Errorf("request %s: %w", subject, refused.Error)
	}
	if err := json.Unmarshal(m.Data, into); err != nil {
		return fmt.Errorf("request %s: the answer: %w", subject, err)
	}
	return nil
}

// request makes a request, and knows one that is denied as soon as the server says so. What it says is not an answer, but comes before one to
// a ping.
func request(ctx context.Context, nc *nats.Conn, subject string, body []byte) (*nats.Msg, error) {
	answers, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }() // with a connection that is gone it goes, too
	before := nc.LastError()
	if err := nc.PublishRequest(subject, answers.Subject, body); err != nil {
		return nil, err
	}
	if err := nc.FlushWithContext(ctx); err != nil {
		return nil, err
	}
	if err := nc.LastError(); err != before && errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), strconv.Quote(subject)) {
		return nil, fmt.Errorf("%w %s", ErrDenied, subject)
	}
	m, err := answers.NextMsgWithContext(ctx)
	if errors.Is(err, nats.ErrNoResponders) || err == nil && len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		return nil, ErrNoAPI
	}
	return m, err
}
