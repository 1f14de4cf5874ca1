package state

import "slices"

// Member is a server of the cluster as it describes itself.
type Member struct {
	// Node identifies the server for ever; a server that has lost its disk comes back as another node.
	Node string `json:"node"`
	// Instance is drawn when the node keeps a meta group for the first time. A node that comes with another one has lost what
	// it had promised, and is not let in under its old id.
	Instance string `json:"instance,omitempty"`
	// Name is what people call it. It is unique among the members.
	Name string `json:"name"`
	// Cluster is the name of the cluster, which placement may ask for.
	Cluster string `json:"cluster,omitempty"`
	// Tags are what placement may ask for besides.
	Tags []string `json:"tags,omitempty"`
	// MaxStoreBytes and MaxMemoryBytes are what its streams may reserve with max_bytes, -1 for no limit.
	MaxStoreBytes  int64 `json:"max_store"`
	MaxMemoryBytes int64 `json:"max_memory"`
	// MaxReplicated bounds the replicated streams on it, 0 for no bound.
	MaxReplicated int `json:"max_replicated,omitempty"`
	// Level is the highest feature level that it knows.
	Level int `json:"level"`
	// Joined is when it became a member, in nanoseconds since 1970.
	Joined int64 `json:"joined,omitempty"`
	// Replaces is the node that had its name before and is gone. Its vote goes to this one.
	Replaces string `json:"replaces,omitempty"`
	// Evacuating says that its streams are moving away, and that it leaves when they have.
	Evacuating bool `json:"evacuating,omitempty"`
}

// Describes tells whether two members say the same of themselves, apart from what the cluster says of them.
func (m *Member) Describes(o *Member) bool {
	return m.Node == o.Node && m.Instance == o.Instance && m.Name == o.Name && m.Cluster == o.Cluster && slices.Equal(m.Tags, o.Tags) &&
		m.MaxStoreBytes == o.MaxStoreBytes && m.MaxMemoryBytes == o.MaxMemoryBytes && m.MaxReplicated == o.MaxReplicated && m.Level == o.Level
}

// clone returns a copy that shares nothing with m.
func (m *Member) clone() *Member {
	c := *m
	c.Tags = slices.Clone(m.Tags)
	return &c
}
