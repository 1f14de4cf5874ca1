package network_test

import (
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"runnel/chaos/network"
)

// web is a mesh with a connection between each ordered pair of servers that only listen, and one to each as a client.
type web struct {
	*network.Mesh
	t         *testing.T
	listeners []net.Listener
	near, far map[[2]int]net.Conn // by who dialled and who was dialled; clients are -1
}

func newWeb(t *testing.T, servers int) *web {
	t.Helper()
	w := &web{t: t, near: make(map[[2]int]net.Conn), far: make(map[[2]int]net.Conn)}
	var targets []network.Target
	for range servers {
		targets = append(targets, w.listen())
	}
	m, err := network.NewMesh(targets...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	w.Mesh = m
	for i := range servers {
		w.connect(-1, i)
		for j := range servers {
			if i != j {
				w.connect(i, j)
			}
		}
	}
	return w
}

// listen makes a server, which has one address for all.
func (w *web) listen() network.Target {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	w.listeners = append(w.listeners, l)
	return network.Target{Cluster: l.Addr().String(), Client: l.Addr().String()}
}

// connect has a server, or a client, dial another server.
func (w *web) connect(i, j int) {
	w.t.Helper()
	address := w.ClientAddr(j)
	if i >= 0 {
		address = w.Addr(i, j)
	}
	near, err := net.Dial("tcp", address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { near.Close() })
	far, err := w.listeners[j].Accept()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { far.Close() })
	w.near[[2]int{i, j}], w.far[[2]int{i, j}] = near, far
}

// from is the end of a server at a connection, whoever has dialled, and the other end.
func (w *web) from(i, j int, dialled bool) (own, other net.Conn) {
	if dialled {
		return w.near[[2]int{i, j}], w.far[[2]int{i, j}]
	}
	return w.far[[2]int{j, i}], w.near[[2]int{j, i}]
}

// reach wants that of all pairs of servers only some reach one another, that is sender and receiver. It says so on every
// connection, and takes what arrives when the network is healed.
func (w *web) reach(unreached ...[2]int) {
	w.t.Helper()
	for i := range w.Len() {
		for j := range w.Len() {
			if i == j {
				continue
			}
			for _, dialled := range []bool{true, false} {
				w.say(i, j, dialled, slices.Contains(unreached, [2]int{i, j}))
			}
		}
	}
	w.Heal()
	for _, pair := range unreached {
		for _, dialled := range []bool{true, false} {
			_, to := w.from(pair[0], pair[1], dialled)
			expect(w.t, to, fmt.Sprint("from ", pair[0]))
		}
	}
}

// say sends something, which arrives or not.
func (w *web) say(i, j int, dialled, cut bool) {
	w.t.Helper()
	from, to := w.from(i, j, dialled)
	if !cut {
		send(w.t, from, to, fmt.Sprint("from ", i))
		return
	}
	if _, err := io.WriteString(from, fmt.Sprint("from ", i)); err != nil {
		w.t.Fatal(err)
	}
	silent(w.t, to)
}

func TestMeshCuts(t *testing.T) {
	w := newWeb(t, 4)
	both := func(pairs ...[2]int) (all [][2]int) {
		for _, p := range pairs {
			all = append(all, p, [2]int{p[1], p[0]})
		}
		return all
	}
	tests := []struct {
		name      string
		cut       func()
		unreached [][2]int
	}{
		{"nothing", func() {}, nil},
		{"one pair", func() { w.Cut(0, 2) }, both([2]int{0, 2})},
		{"one direction", func() { w.CutFrom(3, 1) }, [][2]int{{3, 1}}},
		{"one alone", func() { w.Part(1) }, both([2]int{1, 0}, [2]int{1, 2}, [2]int{1, 3})},
		{"halves", func() { w.Part(0, 3) }, both([2]int{0, 1}, [2]int{0, 2}, [2]int{3, 1}, [2]int{3, 2})},
		{"bridge", func() { w.Bridge(2, 0) }, both([2]int{0, 1}, [2]int{0, 3})},
		{"bridge in the group", func() { w.Bridge(2, 2, 1) }, both([2]int{1, 0}, [2]int{1, 3})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w.t = t
			tt.cut()
			w.reach(tt.unreached...)
		})
	}
}

func TestMeshClients(t *testing.T) {
	w := newWeb(t, 2)
	w.CutClients(0)
	client, server := w.from(-1, 0, true)
	if _, err := io.WriteString(client, "later"); err != nil {
		t.Fatal(err)
	}
	silent(t, server)
	w.reach()
	expect(t, server, "later")
	client, server = w.from(-1, 1, true)
	send(t, client, server, "to the other")
}

func TestMeshSlow(t *testing.T) {
	w := newWeb(t, 3)
	const delay = 60 * time.Millisecond
	there := func(slow func()) time.Duration {
		slow()
		begin := time.Now()
		w.say(0, 1, true, false)
		w.say(0, 1, false, false)
		w.Heal()
		return time.Since(begin)
	}
	if took := there(func() { w.Delay(0, 1, delay) }); took < 2*delay {
		t.Errorf("two delayed messages took %v, want %v at least", took, 2*delay)
	}
	// Of 6 bytes the first go at once.
	if took := there(func() { w.Throttle(1, 0, 50) }); took < 2*delay {
		t.Errorf("two throttled messages took %v, want %v at least", took, 2*delay)
	}
	w.Reset(0, 1)
	for _, dialled := range []bool{true, false} {
		own, _ := w.from(0, 1, dialled)
		own.SetReadDeadline(time.Now().Add(wait))
		if n, err := own.Read(make([]byte, 1)); err == nil {
			t.Errorf("got %d bytes, want an error", n)
		}
	}
	w.say(0, 2, true, false)
}

// A server can be added, and another one can take its place.
func TestMeshGrows(t *testing.T) {
	w := newWeb(t, 2)
	number, err := w.Add(w.listen())
	if err != nil || number != 2 || w.Len() != 3 {
		t.Fatalf("got server %d of %d, %v, want 2 of 3", number, w.Len(), err)
	}
	for _, pair := range [][2]int{{0, 2}, {2, 0}, {1, 2}, {2, 1}, {-1, 2}} {
		w.connect(pair[0], pair[1])
	}
	w.Part(2)
	w.reach([2]int{0, 2}, [2]int{2, 0}, [2]int{1, 2}, [2]int{2, 1})

	target := w.listen()
	w.listeners[2] = w.listeners[3]
	w.Retarget(2, target)
	for _, pair := range [][2]int{{0, 2}, {1, 2}, {-1, 2}} {
		w.connect(pair[0], pair[1])
	}
	w.reach()
	if w.Between(1, 1) != nil {
		t.Error("a server has a proxy to itself")
	}
}

// A server without an address for clients has no proxy for them.
func TestMeshWithoutClients(t *testing.T) {
	m, err := network.NewMesh(network.Target{Cluster: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.ClientAddr(0); got != "" {
		t.Errorf("got address %q, want none", got)
	}
	m.Retarget(0, network.Target{Cluster: "127.0.0.1:2"})
	m.Heal()
	m.Close()
	m.Close()
}
