package msgtrace

import "time"

// Kind is what a message comes from or goes to.
type Kind int

// The kinds, as reports number them.
const (
	Client Kind = iota
	Router
	Gateway
	System
	LeafNode
	JetStream
	Account
)

// Peer is a connection that a message comes from or goes to.
type Peer struct {
	Kind Kind   `json:"kind"`
	CID  uint64 `json:"cid"`
	Name string `json:"name"`
}

// step is how every event begins.
type step struct {
	Type string    `json:"type"`
	Time time.Time `json:"ts"`
}

// The events. Members that are not always there are left out when empty.
type (
	// ingress: the message came in.
	ingress struct {
		step
		Peer
		Account string `json:"acc"`
		Subject string `json:"subj"`
		Error   string `json:"error,omitempty"` // why it went no further
	}
	// mapping: its subject was mapped to another.
	mapping struct {
		step
		To string `json:"to"`
	}
	// export: an account that imports the stream gets it.
	export struct {
		step
		Account string `json:"acc"`
		To      string `json:"to"`
	}
	// request: it went to a service of another account.
	request struct {
		step
		Account string `json:"acc"`
		From    string `json:"from"`
		To      string `json:"to"`
	}
	// egress: a subscriber gets it.
	egress struct {
		step
		Peer
		Hop          string `json:"hop,omitempty"` // of the other server that goes on
		Account      string `json:"acc,omitempty"` // where that is another than the publisher's
		Subscription string `json:"sub,omitempty"`
		Queue        string `json:"queue,omitempty"`
		Error        string `json:"error,omitempty"` // why it does not
	}
	// stored: a stream has decided about it.
	stored struct {
		step
		Stream     string `json:"stream"`
		Subject    string `json:"subject,omitempty"`
		NoInterest bool   `json:"nointerest,omitempty"`
		Error      string `json:"error,omitempty"`
	}
)

// Why a subscriber does not get a message.
const (
	NoEcho = "Not delivered because of no echo"
	Denied = "Not delivered because subscription denies this subject"
	Closed = "Not delivered because client closed"
)

// Egress is a subscriber that a message goes to.
type Egress struct {
	Peer
	Hop          string // of another server, see [Trace.Hop]
	Account      string // empty in the publisher's account
	Subscription string // its subject
	Queue        string // its queue group
	Error        string // why it does not get the message; empty if it does
}
