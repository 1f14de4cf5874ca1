package clustered

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/quota"
)

// Kind is what a question is about.
type Kind string

// The kinds of questions. All but KindUsage, KindStored, KindStreams, KindKnown and KindPart are about one stream, by its id, and
// answered by the server that leads it; others reply that they do not.
const (
	// KindInfo asks for the info of a stream.
	KindInfo Kind = "info"
	// KindStreams asks for the infos of those of the named streams that the server leads.
	KindStreams Kind = "streams"
	// KindUsage asks what the streams of an account have that the server leads.
	KindUsage Kind = "usage"
	// KindStored asks what the streams have that the server leads, as far as that has changed behind a mark.
	KindStored Kind = "stored"
	// KindCheck asks whether a stream would take a configuration.
	KindCheck Kind = "check"
	// KindConfigure has a stream take a configuration, and asks for its info then.
	KindConfigure Kind = "configure"
	// KindRestore has a stream that is new take a backup in, which comes under the id in Restore.
	KindRestore Kind = "restore"
	// KindKnown waits until the server has done what was decided about a stream: it has let go of one that was deleted, and its
	// clients reach the one that leads it.
	KindKnown Kind = "known"
	// KindReceipts asks a stream about deliveries, or has it take acknowledgements; see package receipts.
	KindReceipts Kind = "receipts"
	// KindPut has a stream store the messages in Body; see package handover.
	KindPut Kind = "put"
	// KindPart asks for the part of the server in the answer to Call, a call of our own about all streams of an account.
	KindPart Kind = "part"
)

// Question is what a server asks of another one.
type Question struct {
	Kind Kind `json:"kind"`
	// Position is what the server has to know before it answers; see Cluster.Position.
	Position uint64 `json:"position,omitempty"`

	Account string         `json:"account,omitempty"`
	Names   []string       `json:"names,omitempty"`
	ID      uint64         `json:"id,omitempty"`
	Config  *config.Stream `json:"config,omitempty"`
	Restore string         `json:"restore,omitempty"`
	Mark    quota.Mark     `json:"mark,omitzero"`
	// Call are the words of a call, and Body is that of its request.
	Call string `json:"call,omitempty"`
	Body []byte `json:"body,omitempty"`
}

// Reply is what it is told.
type Reply struct {
	// Error refuses what was asked for.
	Error *api.Error `json:"error,omitempty"`
	// Led is false where another server leads the stream, and nothing else is said then.
	Led     bool              `json:"led,omitempty"`
	Streams []*api.StreamInfo `json:"streams,omitempty"`
	Usage   quota.ByTier      `json:"usage,omitempty"`
	Stored  *quota.News       `json:"stored,omitempty"`
	// Part is a part of the answer to a call, about the streams of Names.
	Part  json.RawMessage `json:"part,omitempty"`
	Names []string        `json:"names,omitempty"`
}

// Asker puts questions to the servers of a cluster. Its methods are safe for concurrent use.
type Asker struct {
	Cluster Cluster
	// Local answers for this server.
	Local func(ctx context.Context, q *Question) *Reply
}

// Answer is what a server does with a question that another one has put with Call.
func (a *Asker) Answer(ctx context.Context, question []byte) ([]byte, error) {
	var q Question
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, fmt.Errorf("question of another server: %w", err)
	}
	answer, err := json.Marshal(a.Local(ctx, &q))
	if err != nil {
		return nil, fmt.Errorf("answer to a %s question: %w", q.Kind, err)
	}
	return answer, nil
}

// One asks one server, which may be this one.
func (a *Asker) One(ctx context.Context, node string, q *Question) (*Reply, error) {
	if node == a.Cluster.Self().ID {
		return a.Local(ctx, q), nil
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("ask server %s: %w", node, err)
	}
	answer, err := a.Cluster.Call(ctx, node, body)
	if err != nil {
		return nil, fmt.Errorf("ask server %s: %w", node, err)
	}
	r := &Reply{}
	if err := json.Unmarshal(answer, r); err != nil {
		return nil, fmt.Errorf("answer of server %s: %w", node, err)
	}
	return r, nil
}

// All asks several servers at the same time, and returns what those said that answered before the context ended, in no
// order.
func (a *Asker) All(ctx context.Context, nodes []string, q *Question) []*Reply {
	var mu sync.Mutex // guards replies
	var replies []*Reply
	var asking sync.WaitGroup
	for _, node := range nodes {
		asking.Go(func() {
			r, err := a.One(ctx, node, q)
			if err != nil {
				return // it is missing from what is gathered
			}
			mu.Lock()
			defer mu.Unlock()
			replies = append(replies, r)
		})
	}
	asking.Wait()
	return replies
}

// The pauses between attempts to find who leads a stream, and how long it is waited to hear of one before all are asked.
const (
	leaderPauseLeast = 5 * time.Millisecond
	leaderPauseMost  = 100 * time.Millisecond
	leaderHeard      = 250 * time.Millisecond
)

// Leader asks whoever leads a stream, and waits until somebody does or the context ends.
func (a *Asker) Leader(ctx context.Context, s *Assignment, q *Question) (*Reply, error) {
	q.ID, q.Account, q.Position = s.ID, s.Account, a.Cluster.Position()
	for pause := leaderPauseLeast; ; pause = min(2*pause, leaderPauseMost) {
		heard, cancel := context.WithTimeout(ctx, leaderHeard)
		a.Cluster.AwaitLeader(heard, s)
		cancel()
		for _, r := range a.All(ctx, a.candidates(s), q) {
			if r.Led {
				return r, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for a leader of stream %q: %w", s.Config.Name, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// candidates returns who may lead a stream: the server that is said to, otherwise all that have it and can be reached.
func (a *Asker) candidates(s *Assignment) []string {
	if leader := a.Cluster.StreamLeader(s); leader != "" {
		return []string{leader}
	}
	self := a.Cluster.Self().ID
	var nodes []string
	for _, p := range s.Peers {
		if p == self || a.Cluster.Online(p) {
			nodes = append(nodes, p)
		}
	}
	return nodes
}

// Online returns the servers that can be reached, this one included.
func (a *Asker) Online() []string {
	var nodes []string
	for _, m := range a.Cluster.Members() {
		if m.Online {
			nodes = append(nodes, m.ID)
		}
	}
	return nodes
}
