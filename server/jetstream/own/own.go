// Package own is how the service of streams has calls of our own answered, those below api.OwnPrefix. Each has its handler in a
// package that knows nothing of the service: it is given what of the service it needs.
//
// There are two kinds. A call about a stream is answered by the server that leads it. A call about all streams of an account is
// answered by one server, which asks all: each tells of the streams that it leads, and that one joins what they have told.
package own

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"runnel/jetlog/store"
	"runnel/server/accounts"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/delivery"
	"runnel/server/jetstream/redrive"
)

// Stream is a stream that is led here.
type Stream struct {
	Log     *store.Stream
	Deliver *delivery.Stream
	// Redrive returns what puts its dead letters back, nil once it is not led here any more.
	Redrive func() *redrive.Stream
}

// Call is a call as its handler sees it. What the stream that it names was told before is applied.
type Call struct {
	Context context.Context // ends with the service, or when nobody waits for the answer any more
	Account *accounts.Account
	// Stream is the one that the subject names, and Consumer the name of its consumer, which there is; both are zero for calls
	// that name none.
	Stream   Stream
	Consumer string
	// Streams are, for calls about all streams of an account, those that are led here, by name. Names are, for Join, those of
	// all streams that there are.
	Streams []Stream
	Names   []string
	Now     time.Time
	// Level is the level of commands that all servers know; see [clustered.View].
	Level int
	// Decode reads the body of the request, as [api.Decoder] does.
	Decode func(into any) error
}

// Handler answers a call about a stream. What it returns is encoded as the answer of its endpoint. An error becomes the answer's.
type Handler func(*Call) (api.Answer, error)

// Gatherer answers a call about all streams of an account.
type Gatherer struct {
	// Part tells of Call.Streams, in JSON.
	Part func(*Call) (any, error)
	// Join makes the answer of what all servers have told; missing are the names of streams that nobody has told of.
	Join func(c *Call, parts []json.RawMessage, missing []string) (api.Answer, error)
}

// Reply is what a server tells another one that gathers: its part, and which streams it is about.
func (g *Gatherer) Reply(c *Call) (*clustered.Reply, error) {
	part, err := g.Part(c)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(part)
	if err != nil {
		return nil, fmt.Errorf("a part of an answer: %w", err)
	}
	r := &clustered.Reply{Part: text}
	for _, s := range c.Streams {
		r.Names = append(r.Names, s.Log.Name())
	}
	return r, nil
}

// Answer answers a call, by what servers have replied, among them this one. There are streams of these names.
func (g *Gatherer) Answer(c *Call, replies []*clustered.Reply, names []string) (api.Answer, error) {
	var parts []json.RawMessage
	told := make(map[string]bool)
	for _, r := range replies {
		if r.Error != nil {
			return nil, r.Error
		}
		if r.Part == nil {
			continue // a server of before
		}
		parts = append(parts, r.Part)
		for _, name := range r.Names {
			told[name] = true
		}
	}
	c.Names = names
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return told[name] })
	slices.Sort(missing)
	return g.Join(c, parts, missing)
}
