package redrive

import (
	"encoding/json"
	"fmt"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// metadataKey is the key under which the consumer has the job, and filter what it filters: nothing that is ever stored.
const (
	metadataKey = "redrive"
	filter      = "$RUNNEL.REDRIVE"
)

// errorBytes is how much is kept of what stands in the way.
const errorBytes = 512

// job is a redrive, as it is written down.
type job struct {
	Sequence uint64         `json:"seq,omitempty"`
	Filter   api.DeadFilter `json:"filter,omitzero"`
	To       string         `json:"to"`
	Rate     int            `json:"rate,omitempty"`
	Started  time.Time      `json:"started"`
	// First and Last are between which sequences the letters are, and Base is the number of the first one.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	Base  uint64 `json:"base"`
	// At and Intent say how far it is; see the package.
	At     uint64 `json:"at"`
	Intent uint64 `json:"intent"`
	Done   uint64 `json:"done"`
	Failed uint64 `json:"failed"`
	Error  string `json:"error,omitempty"`
}

// newJob returns a job that has done nothing yet, in a stream in this state, at a time of the stream.
func newJob(q *api.DeadRedriveRequest, s jetlog.State, now int64, clock time.Time) *job {
	j := &job{
		Sequence: q.Sequence, Filter: q.Filter, To: q.To, Rate: q.Rate, Started: clock.UTC(),
		First: max(s.First, 1), Last: s.Last, Base: uint64(now),
	}
	if q.Sequence != 0 {
		j.First, j.Last = q.Sequence, q.Sequence
	}
	j.At, j.Intent = j.First-1, j.First-1
	return j
}

// asks tells whether a request for one letter is for what the job does.
func (j *job) asks(q *api.DeadRedriveRequest) bool {
	return q.Sequence != 0 && q.Sequence == j.Sequence && q.To == j.To
}

// number is that under which the letter with a sequence is put.
func (j *job) number(sequence uint64) uint64 { return j.Base + sequence - j.First }

// means reports whether a message is to be put back, wherever it is in the stream.
func (j *job) means(m *jetlog.Message) bool { return Means(&j.Filter, m) }

// fail notes that letters up to a sequence cannot be put back, and why.
func (j *job) fail(upTo, letters uint64, why string) {
	j.At, j.Failed, j.Error = upTo, j.Failed+letters, cut(why)
}

func cut(text string) string { return text[:min(len(text), errorBytes)] }

// shown is the job as it is told to whoever asks.
func (j *job) shown() *api.DeadRedrive {
	return &api.DeadRedrive{
		Sequence: j.Sequence, Filter: j.Filter, To: j.To, Rate: j.Rate, Started: j.Started, Done: j.Done, Failed: j.Failed, Error: j.Error,
	}
}

// write returns the command that writes the job down.
func (j *job) write(action command.Action, now int64) (command.Command, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("write a redrive down: %w", err)
	}
	return &command.ConsumerCreate{Time: now, Action: action, Config: config.Consumer{
		Name: config.RedriveConsumer, Durable: config.RedriveConsumer, Deliver: config.DeliverNew, Ack: config.AckExplicit, FilterSubject: filter,
		Direct: true, Metadata: map[string]string{metadataKey: string(text)}, // direct: no client is told of it
	}}, nil
}

// readJob returns the job of a stream, nil if there is none.
func readJob(log Log) (j *job, err error) {
	text := ""
	err = log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		if text = ""; state.Consumer(config.RedriveConsumer) != nil {
			text = state.Consumer(config.RedriveConsumer).Config().Metadata[metadataKey]
		}
		return nil
	})
	if err != nil || text == "" {
		return nil, err
	}
	j = &job{}
	if err := json.Unmarshal([]byte(text), j); err != nil {
		return nil, fmt.Errorf("read what is being put back: %w", err)
	}
	return j, nil
}

// Runs reports whether a redrive of the stream runs, or that cannot be told.
func Runs(log Log) bool {
	is := false
	err := log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		is = state.Consumer(config.RedriveConsumer) != nil
		return nil
	})
	return is || err != nil
}
