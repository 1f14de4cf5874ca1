package jetstream

import (
	"testing"

	"runnel/server/jetstream/api"
)

// TestShownGroup shows as many servers of a group as a consumer asks for.
func TestShownGroup(t *testing.T) {
	group := &api.Cluster{Leader: "a", Replicas: []*api.Peer{{Name: "b"}, {Name: "c"}}}
	for _, test := range []struct {
		name     string
		group    *api.Cluster
		replicas int
		want     int
	}{
		{"as the stream has", group, 0, 2},
		{"one", group, 1, 0},
		{"three", group, 3, 2},
		{"more than there are", group, 5, 2},
		{"nobody leads", nil, 1, -1},
	} {
		got := -1
		if shown := shownGroup(test.group, test.replicas); shown != nil {
			got = len(shown.Replicas)
		}
		if got != test.want {
			t.Errorf("%s: got %d others, want %d", test.name, got, test.want)
		}
	}
	if len(group.Replicas) != 2 {
		t.Error("the group itself was changed")
	}
}
