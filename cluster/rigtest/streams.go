package rigtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// CreateStream makes a stream with a number of replicas that has all subjects below its name.
func (c *Cluster) CreateStream(nc *nats.Conn, name string, replicas int) {
	c.t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		c.t.Fatal(err)
	}
	_, err = Retry(func(ctx context.Context) error {
		_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}, Replicas: replicas})
		return err
	})
	if err != nil {
		c.t.Fatalf("create stream %s: %v", name, err)
	}
}

// ErrNoLeader says that a server knows of no leader of a stream.
var ErrNoLeader = errors.New("the stream has no leader")

// StreamInfo asks over nc what the cluster says of a stream. Who leads nothing may answer too: that is [ErrNoLeader].
func StreamInfo(nc *nats.Conn, name string) (*jetstream.StreamInfo, error) {
	var info struct {
		jetstream.StreamInfo
		Error *jetstream.APIError `json:"error"`
	}
	if err := call(nc, "$JS.API.STREAM.INFO."+name, nil, &info); err != nil {
		return nil, err
	}
	if info.Error != nil {
		return nil, info.Error
	}
	if info.Cluster == nil || info.Cluster.Leader == "" {
		return nil, fmt.Errorf("%s: %w", name, ErrNoLeader)
	}
	return &info.StreamInfo, nil
}

// call asks the API and reads the answer.
func call(nc *nats.Conn, subject string, request, answer any) error {
	var body []byte
	if request != nil {
		var err error
		if body, err = json.Marshal(request); err != nil {
			return err
		}
	}
	m, err := nc.Request(subject, body, 5*time.Second)
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	return json.Unmarshal(m.Data, answer)
}

// Leader is the server that leads a stream. It waits until there is one.
func (c *Cluster) Leader(nc *nats.Conn, stream string) *Node {
	c.t.Helper()
	var name string
	Eventually(c.t, "a leader of "+stream, func() error {
		info, err := StreamInfo(nc, stream)
		if err == nil {
			name = info.Cluster.Leader
		}
		return err
	})
	return c.Node(name)
}

// WaitReplicas waits until all replicas of a stream are there and have what the leader has.
func (c *Cluster) WaitReplicas(nc *nats.Conn, stream string) {
	c.t.Helper()
	Eventually(c.t, "all replicas of "+stream, func() error {
		info, err := StreamInfo(nc, stream)
		if err != nil {
			return err
		}
		if got := len(info.Cluster.Replicas) + 1; got != info.Config.Replicas {
			return fmt.Errorf("%d replicas, want %d", got, info.Config.Replicas)
		}
		for _, r := range info.Cluster.Replicas {
			if !r.Current || r.Offline || r.Lag > 0 {
				return fmt.Errorf("replica on %s: current %v, offline %v, lag %d", r.Name, r.Current, r.Offline, r.Lag)
			}
		}
		return nil
	})
}

// Lead moves the leadership of a stream to a server that has a replica.
func (c *Cluster) Lead(nc *nats.Conn, stream string, n *Node) {
	c.t.Helper()
	asked := time.Time{}
	Eventually(c.t, n.Name+" to lead "+stream, func() error {
		info, err := StreamInfo(nc, stream)
		if err != nil || info.Cluster.Leader == n.Name {
			return err
		}
		if time.Since(asked) < 5*time.Second {
			return fmt.Errorf("%s leads", info.Cluster.Leader)
		}
		asked = time.Now()
		var answer struct {
			Error *jetstream.APIError `json:"error"`
		}
		request := map[string]any{"placement": map[string]string{"preferred": n.Name}}
		if err := call(nc, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, request, &answer); err != nil {
			return err
		}
		if answer.Error != nil {
			return answer.Error
		}
		return fmt.Errorf("%s was asked to hand over", info.Cluster.Leader)
	})
}

// readers is how many messages are asked for at the same time.
const readers = 16

// ReadLeader reads all messages of a stream, one by one, from the replica of its leader. None may have been removed.
func ReadLeader(nc *nats.Conn, stream string) ([]Stored, error) {
	info, err := StreamInfo(nc, stream)
	if err != nil {
		return nil, err
	}
	all := make([]Stored, info.State.LastSeq)
	errs := make([]error, readers)
	var next atomic.Uint64
	var running sync.WaitGroup
	for i := range readers {
		running.Go(func() {
			for {
				sequence := next.Add(1)
				if sequence > info.State.LastSeq || errs[i] != nil {
					return
				}
				all[sequence-1], errs[i] = readMessage(nc, stream, sequence)
			}
		})
	}
	running.Wait()
	return all, errors.Join(errs...)
}

// readMessage asks the leader for one message.
func readMessage(nc *nats.Conn, stream string, sequence uint64) (Stored, error) {
	var answer struct {
		Message struct {
			Sequence uint64 `json:"seq"`
			Data     []byte `json:"data"`
		} `json:"message"`
		Error *jetstream.APIError `json:"error"`
	}
	err := call(nc, "$JS.API.STREAM.MSG.GET."+stream, map[string]uint64{"seq": sequence}, &answer)
	if err == nil && answer.Error != nil {
		err = fmt.Errorf("message %d: %w", sequence, answer.Error)
	}
	return Stored{answer.Message.Sequence, string(answer.Message.Data)}, err
}

// VerifyStream waits until a stream is whole again and then reads it from each of its replicas, each leading for that time.
// All must have the same, and nothing else than what the ledger has.
func (c *Cluster) VerifyStream(stream string, l *Ledger) {
	c.t.Helper()
	nc := c.Connect()
	c.WaitReplicas(nc, stream)
	info, err := StreamInfo(nc, stream)
	if err != nil {
		c.t.Fatal(err)
	}
	last := info.State.LastSeq
	names := []string{info.Cluster.Leader}
	for _, r := range info.Cluster.Replicas {
		names = append(names, r.Name)
	}
	for _, name := range names {
		c.Lead(nc, stream, c.Node(name))
		Eventually(c.t, fmt.Sprintf("%s to have all %d messages", name, last), func() error {
			info, err := StreamInfo(nc, stream)
			if err == nil && info.State.LastSeq < last {
				err = fmt.Errorf("it has %d", info.State.LastSeq)
			}
			return err
		})
		c.VerifyLeader(nc, stream, l)
	}
}

// VerifyLeader reads a stream from its leader, which must have what the ledger has.
func (c *Cluster) VerifyLeader(nc *nats.Conn, stream string, l *Ledger) {
	c.t.Helper()
	var all []Stored
	Eventually(c.t, "an answer for every message of "+stream, func() (err error) {
		all, err = ReadLeader(nc, stream)
		return err
	})
	if found := l.Check(all); len(found) > 0 {
		c.t.Errorf("replica of %s on %s:\n  %s", stream, c.Leader(nc, stream).Name, strings.Join(found, "\n  "))
	}
}
