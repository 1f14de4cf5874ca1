package mesh

import "slices"

// Kind is what a link is for.
type Kind uint8

// The kinds of links that are handed over. The control link of a session stays with the mesh.
const (
	// Route carries messages of clients.
	Route Kind = iota + 1
	// RaftData carries entries of raft logs and snapshots.
	RaftData
	// RaftHeartbeat carries what must not wait behind data: heartbeats and votes.
	RaftHeartbeat
)

// String names the kind as logs do.
func (k Kind) String() string {
	switch k {
	case Route:
		return "route"
	case RaftData:
		return "raft data"
	case RaftHeartbeat:
		return "raft heartbeat"
	}
	return "unknown"
}

// offer is what a server would like to have between itself and another.
type offer struct {
	Pool        int         `json:"pool"`
	Accounts    []string    `json:"accounts,omitempty"`
	Raft        bool        `json:"raft,omitempty"`
	Compression Compression `json:"compression,omitempty"`
}

// slot is the place of a link in its session: each is taken by one link at a time.
type slot struct {
	Kind    Kind   `json:"kind"`
	Pool    int    `json:"pool,omitempty"`
	Account string `json:"account,omitempty"`
}

// agreed is what two offers come to. Both sides get the same from it.
func agreed(a, b offer) offer {
	accounts := slices.Concat(a.Accounts, b.Accounts)
	slices.Sort(accounts)
	return offer{
		Pool:     max(1, min(a.Pool, b.Pool)),
		Accounts: slices.Compact(accounts),
		Raft:     a.Raft && b.Raft,
	}
}

// slots lists the links of a session, in a fixed order.
func (o *offer) slots() []slot {
	var list []slot
	if o.Raft {
		list = append(list, slot{Kind: RaftHeartbeat}, slot{Kind: RaftData})
	}
	for i := range o.Pool {
		list = append(list, slot{Kind: Route, Pool: i})
	}
	for _, a := range o.Accounts {
		list = append(list, slot{Kind: Route, Account: a})
	}
	return list
}
