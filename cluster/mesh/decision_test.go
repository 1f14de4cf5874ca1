package mesh_test

import (
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/mesh"
)

// TestDecisions plays the decisions of one peer after the other.
func TestDecisions(t *testing.T) {
	early, late := time.Unix(1000, 0), time.Unix(2000, 0)
	const decide, follow = true, false
	type step struct {
		decide bool
		id     string
		start  time.Time
		number int // what the peer had or decides; with decide it counts the decisions so far from the last one back, 9 is none
		want   string
	}
	tests := []struct {
		name  string
		steps []step
	}{
		{"the first", []step{{decide, "z", early, 9, ""}}},
		{"while the decision is on its way", []step{{decide, "z", early, 9, ""}, {decide, "z", early, 9, "duplicate"}}},
		{"the peer has lost it", []step{{decide, "z", early, 9, ""}, {decide, "z", early, 0, ""}}},
		{
			"the peer knows an older one",
			[]step{{decide, "z", early, 9, ""}, {decide, "z", early, 0, ""}, {decide, "z", early, 1, "duplicate"}},
		},
		{"the peer was started again", []step{{decide, "z", early, 9, ""}, {decide, "z", late, 9, ""}}},
		{"a copy of the peer", []step{{decide, "z", late, 9, ""}, {decide, "z", early, 0, "id"}}},
		{"own id", []step{{decide, "ID-m", late, 0, "id"}}},
		{"two peers", []step{{decide, "y", early, 9, ""}, {decide, "z", early, 9, ""}}},
		{"follow", []step{{follow, "a", early, 7, ""}, {follow, "a", early, 8, ""}}},
		{"a decision that comes late", []step{{follow, "a", early, 8, ""}, {follow, "a", early, 7, "duplicate"}}},
		{"a decision that comes twice", []step{{follow, "a", early, 8, ""}, {follow, "a", early, 8, "duplicate"}}},
		{"the decider was started again", []step{{follow, "a", early, 8, ""}, {follow, "a", late, 7, ""}}},
		{"a copy of the decider", []step{{follow, "a", late, 8, ""}, {follow, "a", early, 9, "id"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := start(t, config(newNetwork(), "m"))
				var numbers []uint64
				for i, st := range tt.steps {
					peer := mesh.Member{ID: st.id, Name: "name-" + st.id, Cluster: "c", Start: st.start}
					var code string
					if st.decide {
						have := uint64(0)
						if st.number < len(numbers) {
							have = numbers[len(numbers)-1-st.number]
						}
						var number uint64
						number, code = m.mesh.Decide(peer, have)
						if code == "" {
							if len(numbers) > 0 && number <= numbers[len(numbers)-1] {
								t.Errorf("step %d: session %d after %d", i, number, numbers[len(numbers)-1])
							}
							numbers = append(numbers, number)
						}
					} else {
						code = m.mesh.Follow(peer, uint64(st.number))
					}
					if code != st.want {
						t.Errorf("step %d: got %q, want %q", i, code, st.want)
					}
				}
				m.close()
			})
		})
	}
}
