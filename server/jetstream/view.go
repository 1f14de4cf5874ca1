package jetstream

import (
	"iter"

	"runnel/jetlog"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/dlq"
	"runnel/server/jetstream/own"
	"runnel/server/jetstream/reads"
	"runnel/server/jetstream/receipts"
)

// AccountView is what an account has, for whoever watches the server.
type AccountView struct {
	Name     string
	Usage    api.Usage
	API      api.APIStats
	Messages uint64 // in all streams
}

// StreamView is a stream, for whoever watches the server.
type StreamView struct {
	Name      string
	Info      *api.StreamInfo     // without metadata that is made up for clients
	Consumers []*api.ConsumerInfo // in no order
	Lost      uint64              // messages that the disk did not give back
	Dead      *api.DeadStreamInfo // dead letters, nil for none
	Offline   error               // why it could not be opened; nothing else is known then
}

// ViewQuery says which streams are wanted, and how much of them.
type ViewQuery struct {
	Stream    string // only this one, all when empty
	Subjects  bool   // count the subjects, which goes through all of them
	Dead      bool   // look for dead letters, which reads a message of each dead-letter stream
	Consumers bool   // with their consumers
	Consumer  string // of these only this one
}

// Accounts returns all accounts that may use JetStream, in no order.
func (s *Service) Accounts() []AccountView {
	var views []AccountView
	for _, a := range s.served() {
		usage, _ := a.usage().Show(a.limits.Load())
		v := AccountView{
			Name:  a.account.Name(),
			Usage: usage,
			API:   api.APIStats{Total: uint64(a.calls.Load()), Errors: uint64(a.errors.Load())},
		}
		for _, t := range a.all() {
			if !t.offline() {
				v.Messages += t.log.State().Messages
			}
		}
		views = append(views, v)
	}
	return views
}

// served returns the accounts that may use JetStream.
func (s *Service) served() []*account {
	var all []*account
	for _, a := range s.all() {
		if a.limits.Load() != nil {
			all = append(all, a)
		}
	}
	return all
}

// servedNames returns their names.
func (s *Service) servedNames() []string {
	var names []string
	for _, a := range s.served() {
		names = append(names, a.name())
	}
	return names
}

// Requests returns how many requests all accounts made.
func (s *Service) Requests() api.APIStats {
	return api.APIStats{Level: api.Level, Total: uint64(s.requests.Load()), Errors: uint64(s.failures.Load())}
}

// Problem is what is wrong with a stream.
type Problem struct {
	Account, Stream string
	Offline         error  // why it could not be opened, nil when it works
	Harm            error  // what is damaged in its files, so that it cannot be read; nil if nothing is known
	Lost            uint64 // messages that the disk did not give back
}

// Problems returns the streams with which something is wrong.
func (s *Service) Problems() []Problem {
	var found []Problem
	for _, a := range s.served() {
		for _, t := range a.all() {
			p := Problem{Account: a.account.Name(), Stream: t.log.Name()}
			if t.offline() {
				p.Offline = t.log.Err()
			} else {
				p.Lost, p.Harm = reads.Lost(t.log), t.log.Harm()
			}
			if p.Offline != nil || p.Lost > 0 || p.Harm != nil {
				found = append(found, p)
			}
		}
	}
	return found
}

// Streams yields streams of an account in no order, nothing when the account is not known. One that goes away
// meanwhile is left out.
func (s *Service) Streams(account string, q ViewQuery) iter.Seq[StreamView] {
	return func(yield func(StreamView) bool) {
		for _, a := range s.served() {
			if a.account.Name() != account {
				continue
			}
			for _, t := range a.all() {
				if q.Stream != "" && q.Stream != t.log.Name() {
					continue
				}
				if v, ok := t.view(q); ok && !yield(v) {
					return
				}
			}
		}
	}
}

// view returns what a query asks for, false when the stream has gone. It waits for nothing that is under way: who watches a
// server must not hold it up.
func (t *stream) view(q ViewQuery) (StreamView, bool) {
	s := t.account.service
	info := &api.StreamInfo{Config: t.config(), Sync: t.sync(), Now: s.cfg.Clock().UTC()}
	if t.offline() {
		return StreamView{Name: t.log.Name(), Info: info, Offline: t.log.Err()}, true
	}
	info.Cluster = t.group()
	var consumers []string
	err := t.log.View(func(state *jetlog.Stream, m jetlog.Messages) error {
		info.Created, info.State = api.At(state.Created()), reads.State(state)
		for _, c := range state.Consumers() {
			if q.Consumers && !reads.Hidden(c) && (q.Consumer == "" || q.Consumer == c.Name()) {
				consumers = append(consumers, c.Name())
			}
		}
		info.Owed = receipts.OwedBy(state, m, info.Now)
		return nil
	})
	if err != nil {
		return StreamView{}, false
	}
	if q.Subjects {
		info.State.SubjectCount = t.subjects.Number()
	}
	if t.sources != nil {
		info.Mirror, info.Sources = t.sources.Mirror(), t.sources.Sources()
	}
	v := StreamView{Name: t.log.Name(), Info: info, Lost: reads.Lost(t.log)}
	if q.Dead {
		v.Dead = dlq.Depth(own.Stream{Log: t.log}, info.Now)
	}
	for _, name := range consumers {
		if c, err := t.consumerInfo(name, true); err == nil && c != nil {
			v.Consumers = append(v.Consumers, c)
		}
	}
	return v, true
}
