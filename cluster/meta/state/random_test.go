package state_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"runnel/cluster/meta/state"
	"runnel/jetlog/config"
	"runnel/subjects"
)

// chance makes random commands that make sense more often than not.
type chance struct{ *rand.Rand }

func (c chance) of(choices ...string) string { return choices[c.IntN(len(choices))] }

func (c chance) nodes(n int) []string {
	all := []string{"a", "b", "c", "d", "e", "f", "g"}
	c.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:n]
}

func (c chance) config() config.Stream {
	cfg := stream(c.of("s", "t", "u", "v"), 1+c.IntN(5))
	cfg.Subjects = nil
	for range 1 + c.IntN(2) {
		subject := c.of("a", "b", "*", ">") + c.of("", ".x", ".*")
		if !strings.HasPrefix(subject, ">") && !slices.Contains(cfg.Subjects, subject) {
			cfg.Subjects = append(cfg.Subjects, subject)
		}
	}
	cfg.MaxBytes = int64(c.IntN(3)) * 100
	if c.IntN(3) == 0 {
		cfg.Placement = &config.Placement{Cluster: c.of("east", "west"), Tags: []string{"x"}}
	}
	if c.IntN(3) == 0 {
		cfg.Mirror = &config.Source{Name: c.of("s", "t", "u", "v")}
		if c.IntN(2) == 0 {
			cfg.Mirror.External = &config.External{API: "x"}
		}
	}
	if c.IntN(3) == 0 {
		cfg.Metadata = map[string]string{"k": c.of("1", "2"), "j": "3", "i": "4"}
	}
	return cfg
}

func (c chance) command(v *state.View) state.Command {
	account, name := c.of("A", "B"), c.of("s", "t", "u", "v")
	var version, id uint64
	if a := v.Stream(account, name); a != nil {
		version, id = a.Version, a.ID
	}
	switch c.IntN(12) {
	case 0, 1, 2:
		cfg := c.config()
		return &state.CreateStream{
			Account: account, Config: cfg, Created: c.Int64(), Peers: c.nodes(cfg.Replicas),
			Limits: &state.Limits{MaxStreams: 3, MaxStoreBytes: 1500, MaxMemoryBytes: -1, Tiered: c.IntN(2) == 0},
		}
	case 3, 4:
		cfg := c.config()
		if a := v.Stream(account, cfg.Name); a != nil {
			version = a.Version
		}
		return &state.UpdateStream{Account: account, Config: cfg, Version: version, Peers: c.nodes(cfg.Replicas), Time: c.Int64()}
	case 5:
		return &state.DeleteStream{Account: account, Name: name}
	case 6:
		return &state.MoveStream{
			Account: account, Name: name, Version: version, From: c.of("", "a", "b", "c"), Peers: c.nodes(1 + c.IntN(5)),
			Drop: c.IntN(2) == 0, Upkeep: c.IntN(2) == 0,
		}
	case 7, 8:
		return &state.Settle{ID: id, Version: version}
	case 9:
		return &state.CancelChange{Account: account, Name: name}
	case 10:
		node := c.of("a", "b", "c", "d", "e", "f", "g", "h")
		switch c.IntN(8) {
		case 0:
			return &state.RemoveMember{Node: node, Time: 5}
		case 1:
			return &state.Evacuate{Node: node, Cancel: c.IntN(2) == 0}
		case 2:
			return &state.Raise{Level: c.IntN(3)}
		}
		m := member(node)
		m.Level = 1 + c.IntN(2)
		return &state.Admit{Member: m, Time: 6}
	}
	return &state.DeleteStream{Account: account, Name: name, ID: id}
}

// TestReplicasAgree applies the same random commands to two machines, one of which is replaced now and then by what was written
// down of it, and looks for streams that overlap.
func TestReplicasAgree(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			c := chance{rand.New(rand.NewPCG(seed, 1))}
			one, two := newMachine(t, c.nodes(7)...), &machine{Machine: state.NewMachine(), t: t}
			if err := two.Restore(bytes.NewReader(one.bytes())); err != nil {
				t.Fatal(err)
			}
			two.index = one.index
			accepted := 0
			for range 400 {
				command := c.command(one.View())
				r, q := one.do(command), two.do(command)
				if r.Code != q.Code || r.Detail != q.Detail || r.Existing != q.Existing || (r.Stream == nil) != (q.Stream == nil) {
					t.Fatalf("%+v: one says %+v, the other %+v", command, r, q)
				}
				if r.Code == 0 {
					accepted++
				}
				if c.IntN(20) == 0 {
					written := two.bytes()
					if !bytes.Equal(one.bytes(), written) {
						t.Fatalf("the states differ:\n%s\n%s", one.bytes(), written)
					}
					if err := two.Restore(bytes.NewReader(written)); err != nil {
						t.Fatal(err)
					}
					two.check()
					disjoint(t, one.View())
				}
			}
			if !bytes.Equal(one.bytes(), two.bytes()) {
				t.Error("the states differ in the end")
			}
			if accepted < 40 {
				t.Errorf("only %d commands were accepted", accepted)
			}
		})
	}
}

// disjoint looks for streams of an account that have a subject in common.
func disjoint(t *testing.T, v *state.View) {
	t.Helper()
	for a := range v.All() {
		for b := range v.Streams(a.Account) {
			for _, x := range a.Config.Subjects {
				for _, y := range b.Config.Subjects {
					if a != b && subjects.Overlap(x, y) {
						t.Fatalf("%s and %s have %s and %s", a.Config.Name, b.Config.Name, x, y)
					}
				}
			}
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	m := newMachine(t, "a", "b")
	m.must(&state.CreateStream{Account: "A", Config: stream("s", 1), Peers: []string{"a"}})
	m.must(&state.RemoveMember{Node: "b"})
	good := string(m.bytes())
	if err := m.Restore(strings.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(good, "\n")
	for name, text := range map[string]string{
		"nothing":        "",
		"newer":          strings.Replace(good, `"version":1`, `"version":2`, 1),
		"newer member":   strings.Replace(good, `"node":"a"`, `"node":"a","shape":"round"`, 1),
		"cut off":        good[:len(good)-10],
		"a line missing": strings.Join(lines[:len(lines)-2], ""),
		"more behind":    good + "{}",
		"stream twice":   strings.Replace(good, `"streams":1`, `"streams":2`, 1) + lines[len(lines)-2],
		"no peers":       strings.Replace(good, `"peers":["a"]`, `"peers":[]`, 1),
		"id not given":   strings.Replace(good, `"next_id":1099511627777`, `"next_id":5`, 1),
	} {
		if err := m.Restore(strings.NewReader(text)); !errors.Is(err, state.ErrUnknown) {
			t.Errorf("%s: got %v, want ErrUnknown", name, err)
		}
	}
	if string(m.bytes()) != good {
		t.Error("the state has changed")
	}
}

func FuzzDecode(f *testing.F) {
	c := chance{rand.New(rand.NewPCG(1, 1))}
	m := state.NewMachine()
	for range 50 {
		b, err := state.Encode(c.command(m.View()))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		one := newMachine(t, "a", "b", "c")
		r, err := one.Apply(5, b)
		if err != nil {
			if !errors.Is(err, state.ErrUnknown) {
				t.Fatalf("the error is %v", err)
			}
			return
		}
		two := newMachine(t, "a", "b", "c")
		if q, err := two.Apply(5, b); err != nil || q.Code != r.Code || !bytes.Equal(one.bytes(), two.bytes()) {
			t.Fatalf("%v, %+v and %+v", err, r, q)
		}
		one.check()
		if err := two.Restore(bytes.NewReader(one.bytes())); err != nil || !bytes.Equal(one.bytes(), two.bytes()) {
			t.Fatalf("what was written is not what was read: %v\n%s", err, one.bytes())
		}
	})
}

func FuzzRestore(f *testing.F) {
	m := state.NewMachine()
	var b bytes.Buffer
	if err := m.View().Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"version":1,"cluster_id":"c","level":1,"index":3,"next_id":1099511627777,"members":1,"removed":0,"streams":1}
{"node":"a","name":"n","max_store":-1,"max_memory":-1,"level":1}
{"id":1099511627776,"account":"A","config":{"name":"s","subjects":["s"],"retention":"limits","storage":"file","num_replicas":1},"created":1,"group":"g","peers":["a"],"preferred":"a","version":1}
`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := state.NewMachine()
		if err := m.Restore(bytes.NewReader(b)); err != nil {
			return
		}
		var written, again bytes.Buffer
		two := state.NewMachine()
		if err := errors.Join(m.View().Write(&written), two.Restore(bytes.NewReader(written.Bytes())), two.View().Write(&again)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(written.Bytes(), again.Bytes()) {
			t.Fatalf("%s\n%s", written.Bytes(), again.Bytes())
		}
	})
}

func BenchmarkCreate(b *testing.B) {
	b.ReportAllocs()
	m := state.NewMachine()
	apply := func(index int, c state.Command) {
		encoded, err := state.Encode(c)
		if err != nil {
			b.Fatal(err)
		}
		if r, err := m.Apply(uint64(index), encoded); err != nil || r.Code != 0 {
			b.Fatal(err, r)
		}
	}
	apply(1, &state.Found{ClusterID: "c", Members: []state.Member{member("a"), member("b"), member("c")}})
	for i := 0; b.Loop(); i++ {
		apply(i+2, &state.CreateStream{Account: "A", Config: stream(fmt.Sprint("s", i), 3), Peers: []string{"a", "b", "c"}})
	}
}
