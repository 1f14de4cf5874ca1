package state_test

import (
	"testing"

	"runnel/cluster/meta/state"
	"runnel/jetlog/config"
)

// carryOut applies commands one after the other and returns the stream as it is then.
func carryOut(t *testing.T, commands ...state.Command) *state.Assignment {
	t.Helper()
	m := state.NewMachine()
	var a *state.Assignment
	for i, c := range commands {
		encoded, err := state.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.Apply(uint64(i+1), encoded)
		if err != nil || r.Code != 0 {
			t.Fatalf("%T: %v, code %d", c, err, r.Code)
		}
		if r.Stream != nil {
			a = r.Stream
		}
	}
	return a
}

// TestBirth has a stream remember how its replicas began, and who has been there since.
func TestBirth(t *testing.T) {
	member := func(node string) *state.Admit {
		return &state.Admit{Member: state.Member{Node: node, Name: node, Level: 1}}
	}
	found := &state.Found{ClusterID: "c", Members: []state.Member{{Node: "a", Name: "a", Level: 1}, {Node: "b", Name: "b", Level: 1}, {Node: "c", Name: "c", Level: 1}}}
	cfg := config.Stream{Name: "S", Subjects: []string{"s"}, Replicas: 3}
	bigger := cfg
	bigger.MaxMessages = 7
	create := &state.CreateStream{Account: "A", Config: cfg, Peers: []string{"a", "b", "c"}}
	a := carryOut(t, found, member("d"), create)
	if a.Birth.Config != nil || !a.Native("a") || !a.Native("c") || a.Native("d") {
		t.Errorf("after its creation: %+v", a.Birth)
	}
	update := &state.UpdateStream{Account: "A", Config: bigger}
	a = carryOut(t, found, member("d"), create, update, update)
	if a.Birth.Config == nil || a.Birth.Config.MaxMessages != cfg.MaxMessages {
		t.Errorf("after an update: %+v", a.Birth)
	}
	away := &state.MoveStream{Account: "A", Name: "S", Version: 1, From: "c", Peers: []string{"a", "b", "d"}}
	a = carryOut(t, found, member("d"), create, away)
	if !a.Native("c") {
		t.Errorf("on its way it has left already: %+v", a.Birth)
	}
	back := &state.MoveStream{Account: "A", Name: "S", Version: 3, From: "d", Peers: []string{"a", "b", "c"}}
	a = carryOut(t, found, member("d"), create, away, &state.Settle{ID: a.ID, Version: 2}, back)
	if a.Native("c") || !a.Native("a") || !a.On("c") {
		t.Errorf("after it has been away: %+v, on %v", a.Birth, a.Peers)
	}
	dropped := *away
	dropped.Drop = true
	if a = carryOut(t, found, member("d"), create, &dropped); a.Native("c") {
		t.Errorf("after it was dropped: %+v", a.Birth)
	}
}
