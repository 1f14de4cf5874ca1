package mesh_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/mesh"
)

// server is a mesh with a handler that notes what it is told, and reads its links as an engine would.
type server struct {
	t    *testing.T
	name string
	mesh *mesh.Mesh
	logs *logs
	wg   sync.WaitGroup // readers of links

	mu      sync.Mutex // guards what follows
	open    map[*mesh.Link]bool
	seen    map[*mesh.Link]bool
	reasons []error
	self    mesh.Member
	others  []mesh.Member
	input   map[uint64][]byte // what has arrived, by the id of the link
	arrived *sync.Cond        // something of this has changed
}

func (s *server) Linked(l *mesh.Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[l] {
		s.t.Errorf("%s: link %d is handed over twice", s.name, l.ID)
	}
	s.seen[l], s.open[l] = true, true
	s.arrived.Broadcast()
	s.wg.Go(func() { s.read(l) })
}

func (s *server) read(l *mesh.Link) {
	b := make([]byte, 4096)
	for {
		n, err := l.Read(b)
		s.mu.Lock()
		s.input[l.ID] = append(s.input[l.ID], b[:n]...)
		s.arrived.Broadcast()
		s.mu.Unlock()
		if err != nil {
			l.CloseWith(err)
			return
		}
	}
}

func (s *server) Unlinked(l *mesh.Link, reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open[l] {
		s.t.Errorf("%s: link %d ends, but is not open", s.name, l.ID)
	}
	delete(s.open, l)
	s.reasons = append(s.reasons, reason)
}

func (s *server) MembersChanged(self mesh.Member, others []mesh.Member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.self = self
	for l := range s.open {
		if !slices.ContainsFunc(others, func(m mesh.Member) bool { return m.ID == l.Peer.ID }) {
			s.t.Errorf("%s: link %d to %s is open, who is no member", s.name, l.ID, l.Peer.Name)
		}
	}
	s.others = others
	s.arrived.Broadcast()
}

// names lists whom the handler was told last to be there.
func (s *server) names() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, m := range s.others {
		names = append(names, m.Name)
	}
	return strings.Join(names, " ")
}

// cluster is the name of the cluster that the handler was told last.
func (s *server) cluster() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.self.Cluster
}

// slots lists the open links to one peer, as the handler knows them.
func (s *server) slots(id string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for l := range s.open {
		if l.Peer.ID == id {
			list = append(list, slotName(l))
		}
	}
	slices.Sort(list)
	return list
}

func slotName(l *mesh.Link) string {
	if l.Account != "" {
		return "route " + l.Account
	}
	return fmt.Sprintf("%s %d/%d", l.Kind, l.Pool, l.PoolSize)
}

// link returns the open link to a peer that has that name among its slots.
func (s *server) link(id, slot string) *mesh.Link {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.open {
		if l.Peer.ID == id && slotName(l) == slot {
			return l
		}
	}
	s.t.Fatalf("%s has no link %q to %s", s.name, slot, id)
	return nil
}

// close closes the mesh and waits for the readers.
func (s *server) close() {
	s.t.Helper()
	if err := s.mesh.Close(context.Background()); err != nil {
		s.t.Errorf("close: %v", err)
	}
	s.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) > 0 {
		s.t.Errorf("%s: %d links are open after Close", s.name, len(s.open))
	}
}

// logs keeps log lines, for tests to look at.
type logs struct {
	mu  sync.Mutex // guards what follows
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// config is that of a server named as its host, in a cluster named c, which the network n reaches.
func config(n *network, name string, seeds ...string) mesh.Config {
	return mesh.Config{
		Self: mesh.Member{
			ID: "ID-" + name, Name: name, Cluster: "c", RouteURL: name + ":1",
			ClientURLs: []string{name + ":4222"},
		},
		Listener: n.listen(name + ":1"),
		Seeds:    seeds,
		PoolSize: 3,
		Accounts: []string{"SYS"},
		Dial:     n.dialer(name),
	}
}

// start opens a mesh. What it logs from Info on is kept.
func start(t *testing.T, cfg mesh.Config) *server {
	t.Helper()
	s := &server{
		t: t, name: cfg.Self.Name, logs: new(logs), open: map[*mesh.Link]bool{}, seen: map[*mesh.Link]bool{}, input: map[uint64][]byte{},
	}
	s.arrived = sync.NewCond(&s.mu)
	s.self = cfg.Self
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(s.logs, nil))
	}
	m, err := mesh.Open(cfg, s)
	if err != nil {
		t.Fatal(err)
	}
	s.mesh = m
	return s
}

// inNetwork runs a test in a bubble with a network of its own. It fails if a goroutine is left over.
func inNetwork(t *testing.T, do func(t *testing.T, n *network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { do(t, newNetwork()) })
}

// after lets time pass in the bubble and waits until everybody waits.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// wantMesh checks that each server has all others as members and exactly the agreed links with each.
func wantMesh(t *testing.T, want []string, servers ...*server) {
	t.Helper()
	for _, s := range servers {
		self := s.mesh.Self()
		var names []string
		for _, o := range servers {
			if other := o.mesh.Self(); other.ID != self.ID {
				names = append(names, other.Name)
				if got := s.slots(other.ID); !slices.Equal(got, want) {
					t.Errorf("%s has the links %q to %s, want %q", self.Name, got, other.Name, want)
				}
			}
		}
		slices.Sort(names)
		if got := s.names(); got != strings.Join(names, " ") {
			t.Errorf("%s was told of the members %q, want %q", self.Name, got, names)
		}
		if got, want := len(s.mesh.Links()), len(names)*len(want); got != want {
			t.Errorf("%s lists %d links, want %d", self.Name, got, want)
		}
	}
}

// usual are the links of a pair with the usual config.
func usual() []string { return []string{"route 0/3", "route 1/3", "route 2/3", "route SYS"} }

// wantLog checks that a log has a line with all of the parts, and none of the unwanted.
func (s *server) wantLog(parts ...string) {
	s.t.Helper()
	for line := range strings.Lines(s.logs.text()) {
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) }) {
			return
		}
	}
	s.t.Errorf("%s: no line of the log has all of %q:\n%s", s.name, parts, s.logs.text())
}

// wantInput waits until text has arrived on a link, and nothing else.
func (s *server) wantInput(l *mesh.Link, text string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.input[l.ID]) < len(text) {
		s.arrived.Wait()
	}
	if got := string(s.input[l.ID]); got != text {
		s.t.Errorf("link %d: got %q, want %q", l.ID, got, text)
	}
}

// drain reads r to its end.
func drain(r io.Reader) string {
	b, _ := io.ReadAll(r)
	return string(b)
}
