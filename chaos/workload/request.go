package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// errNone says that there is no such message.
var errNone = errors.New("there is no message")

// message is a stored message as the API tells it.
type message struct {
	Subject  string `json:"subject"`
	Sequence uint64 `json:"seq"`
	Data     []byte `json:"data"`
}

// get asks who takes itself for a stream's leader for a message; errNone if there is none.
func (c *client) get(ctx context.Context, stream string, which map[string]any) (*message, error) {
	var answer struct{ Message message }
	err := c.request(ctx, "$JS.API.STREAM.MSG.GET."+stream, which, &answer)
	switch {
	case codeOf(err) == codeNoMessage:
		return nil, errNone
	case err != nil:
		return nil, err
	case answer.Message.Sequence == 0:
		return nil, errors.New("a message without a sequence")
	}
	return &answer.Message, nil
}

// request asks the API once, and decodes the answer, if that is not an error. answer may be nil.
func (c *client) request(ctx context.Context, subject string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	m, err := c.nc.RequestWithContext(ctx, subject, data)
	if err != nil {
		return err
	}
	if err := refused(m.Data); err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(m.Data, answer)
}

// refused is the error that an answer of the API tells; nil if it tells none.
func refused(answer []byte) error {
	var failed struct{ Error *jetstream.APIError }
	if err := json.Unmarshal(answer, &failed); err != nil {
		return fmt.Errorf("an answer that is not JSON: %w", err)
	}
	if failed.Error != nil {
		return failed.Error
	}
	return nil
}
