package state

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"runnel/jetlog/config"
)

// FirstID is the first id of a stream that a cluster gives. A server that stands alone gives smaller ones.
const FirstID = 1 << 40

// Assignment is a stream and the servers that keep it. It never changes; a change makes another one.
type Assignment struct {
	// ID is unique for ever. It is the id of the stream's raft group too.
	ID      uint64 `json:"id"`
	Account string `json:"account"`
	// Config is what the stream is to be. Its Replicas may be ahead of Peers, see Desired.
	Config config.Stream `json:"config"`
	// Created is when it was asked for, in nanoseconds since 1970.
	Created int64 `json:"created"`
	// Group is the name of the raft group that people see.
	Group string `json:"group"`
	// Peers are the nodes that keep a replica. The first is the one that should lead to begin with.
	Peers []string `json:"peers"`
	// Preferred is the node that should lead a new group; it is one of the target.
	Preferred string `json:"preferred"`
	// Version counts the changes, from 1.
	Version uint64 `json:"version"`
	// Birth is how the replicas began.
	Birth Birth `json:"birth"`
	// Desired is where the stream is going; nil if it is where it should be.
	Desired *Desired `json:"desired,omitempty"`
}

// Birth is how the replicas of a stream began, so that one of them can be made late and be like the others were.
type Birth struct {
	// Config is the configuration of then; nil if it has not changed since.
	Config *config.Stream `json:"config,omitempty"`
	// Peers are the nodes of then, Left those of them that have not been among the peers all the time since.
	Peers []string `json:"peers"`
	Left  []string `json:"left,omitempty"`
}

// Native tells whether a node has been to keep a replica from the beginning on, without a break: it can begin as
// all did. Any other has to get what there is.
func (a *Assignment) Native(node string) bool {
	return slices.Contains(a.Birth.Peers, node) && !slices.Contains(a.Birth.Left, node)
}

// depart notes who of those from the beginning is not among the peers any more.
func (a *Assignment) depart() {
	for _, node := range a.Birth.Peers {
		if a.Native(node) && !a.On(node) {
			a.Birth.Left = append(slices.Clip(a.Birth.Left), node)
		}
	}
}

// Desired is a change of a stream's servers that is under way.
type Desired struct {
	// Group is the name of the raft group when it is done.
	Group string `json:"group"`
	// Peers are the nodes that keep a replica then.
	Peers []string `json:"peers"`
	// Since is when it began, in nanoseconds since 1970.
	Since int64 `json:"since,omitempty"`
	// Cancelled says that it goes back to where it came from.
	Cancelled bool `json:"cancelled,omitempty"`
	// Origin is where it came from, for who wants it to go back.
	Origin Origin `json:"origin"`
}

// Origin is what a stream was before a change.
type Origin struct {
	Replicas  int               `json:"replicas"`
	Placement *config.Placement `json:"placement,omitempty"`
	Group     string            `json:"group"`
	Peers     []string          `json:"peers"`
}

// Target returns the nodes that keep a replica when all is done.
func (a *Assignment) Target() []string {
	if a.Desired != nil {
		return a.Desired.Peers
	}
	return a.Peers
}

// Solo tells whether one server alone has the stream, so that there is no raft group.
func (a *Assignment) Solo() bool { return a.Desired == nil && len(a.Peers) == 1 }

// Source returns the nodes that have all of the stream for certain: those that it comes from while it changes.
func (a *Assignment) Source() []string {
	if a.Desired != nil {
		return a.Desired.Origin.Peers
	}
	return a.Peers
}

// On tells whether a node keeps a replica.
func (a *Assignment) On(node string) bool { return slices.Contains(a.Peers, node) }

// clone returns a copy whose lists can be replaced. Configurations are shared: nobody changes one in place.
func (a *Assignment) clone() *Assignment {
	c := *a
	if a.Desired != nil {
		d := *a.Desired
		c.Desired = &d
	}
	return &c
}

// groupName is the name that people see of a stream's group, such as S-R3F-hk2Bc8Jd. It depends on nothing but the cluster,
// the stream and the number of its replicas.
func groupName(cluster string, id uint64, cfg *config.Stream) string {
	var seed []byte
	seed = append(seed, cluster...)
	seed = binary.BigEndian.AppendUint64(seed, id)
	seed = append(seed, byte(cfg.Replicas))
	sum := sha256.Sum256(seed)
	text := new(big.Int).SetBytes(sum[:]).Text(62)
	storage := "F"
	if cfg.Storage == config.MemoryStorage {
		storage = "M"
	}
	return "S-R" + strconv.Itoa(cfg.Replicas) + storage + "-" + strings.Repeat("0", max(0, 8-len(text))) + text[:min(8, len(text))]
}

// union returns the nodes of both lists, those of the first in front.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, node := range b {
		if !slices.Contains(all, node) {
			all = append(all, node)
		}
	}
	return all
}

// minus returns the nodes of a that are not in b.
func minus(a, b []string) []string {
	var rest []string
	for _, node := range a {
		if !slices.Contains(b, node) {
			rest = append(rest, node)
		}
	}
	return rest
}

// distinct tells whether no node is named twice, or is empty.
func distinct(nodes []string) bool {
	for i, node := range nodes {
		if node == "" || slices.Contains(nodes[:i], node) {
			return false
		}
	}
	return true
}
