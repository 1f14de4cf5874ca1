package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"runnel/jetlog/config"
)

// noPeers is how the text begins of a refusal because there are no servers for a stream.
const noPeers = "no suitable peers for placement"

// Server is a member as placement sees it: what it says of itself, and how it is doing.
type Server struct {
	*Member
	// Online says that it can be reached.
	Online bool
	// Load is what is assigned to it, with what is being assigned.
	Load Load
	// FreeBytes is what its disk has left; 0 if it is not known.
	FreeBytes int64
	// Full says that its disk takes no messages now.
	Full bool
}

// Request is what a stream needs.
type Request struct {
	Replicas int
	// Storage and MaxBytes are what it reserves.
	Storage  config.Storage
	MaxBytes int64
	// Placement is what it asks for; nil for nothing.
	Placement *config.Placement
	// UniqueTag is the beginning of a tag that no two of its servers may have in common; empty for none.
	UniqueTag string
	// Keep are the servers that it has; those that suit are kept, the first of them rather than the last.
	Keep []string
	// Without are servers that it must not get.
	Without []string
}

// NeedOf returns what a configuration needs.
func NeedOf(cfg *config.Stream) Request {
	return Request{Replicas: max(cfg.Replicas, 1), Storage: cfg.Storage, MaxBytes: cfg.MaxBytes, Placement: cfg.Placement}
}

// Place chooses servers for a stream: of those that suit, the ones whose disk is not full, then with the fewest (replicated)
// streams, then the most free space, then the smaller id. In front stands the one that should lead: one that is kept, otherwise
// one whose disk is not full, and of these the one that leads the fewest. The same question gets the same answer. The error is a *config.Error whose detail says what is missing.
func Place(r Request, servers []Server) ([]string, error) {
	chosen, why := place(&r, servers)
	if len(chosen) < r.Replicas {
		return nil, why.refusal(r.Replicas, len(chosen))
	}
	return lead(&r, chosen), nil
}

// PlaceSome is Place for who takes fewer servers as well, if at least one.
func PlaceSome(r Request, servers []Server) []string {
	chosen, _ := place(&r, servers)
	return lead(&r, chosen)
}

// place chooses as many servers as are needed, or fewer, and tells why the others are none.
func place(r *Request, servers []Server) ([]Server, reasons) {
	var why reasons
	var suit []Server
	for _, s := range servers {
		if reason := r.against(&s); reason != "" {
			why.note(reason)
			continue
		}
		suit = append(suit, s)
	}
	slices.SortFunc(suit, r.compare)
	var chosen []Server
	taken := make(map[string]bool)
	for _, s := range suit {
		if len(chosen) == r.Replicas {
			break
		}
		if r.UniqueTag != "" {
			tag, ok := uniqueTag(s.Tags, r.UniqueTag)
			if !ok {
				why.note("without a tag " + r.UniqueTag)
				continue
			}
			if taken[tag] {
				why.note("with the tag " + tag + " of another one")
				continue
			}
			taken[tag] = true
		}
		chosen = append(chosen, s)
	}
	return chosen, why
}

// against tells what makes a server unsuitable, empty for nothing. One that is kept has the stream's data and its place already.
func (r *Request) against(s *Server) string {
	kept := slices.Contains(r.Keep, s.Node)
	switch {
	case slices.Contains(r.Without, s.Node):
		return "to be left"
	case s.Evacuating:
		return "being evacuated"
	case !s.Online && !kept:
		return "offline"
	}
	if p := r.Placement; p != nil {
		if p.Cluster != "" && p.Cluster != s.Cluster {
			return "not in cluster " + p.Cluster
		}
		for _, tag := range p.Tags {
			if !slices.ContainsFunc(s.Tags, func(t string) bool { return strings.EqualFold(t, tag) }) {
				return "without tag " + tag
			}
		}
	}
	switch {
	case kept:
		return ""
	case r.Replicas > 1 && s.MaxReplicated > 0 && s.Load.Replicated >= s.MaxReplicated:
		return "with too many replicated streams"
	case r.MaxBytes > 0 && r.Storage == config.MemoryStorage && s.Load.Memory.plus(r.MaxBytes, 1).exceeds(s.MaxMemoryBytes):
		return "short of memory"
	case r.MaxBytes > 0 && r.Storage != config.MemoryStorage && s.Load.Store.plus(r.MaxBytes, 1).exceeds(s.MaxStoreBytes):
		return "short of storage"
	}
	return ""
}

// rank orders servers that are kept before others: those that can be reached in front, each as it stands in Keep.
func (r *Request) rank(s *Server) int {
	i := slices.Index(r.Keep, s.Node)
	switch {
	case i < 0:
		return 2 * len(r.Keep)
	case s.Online:
		return i
	}
	return len(r.Keep) + i
}

// compare orders servers, the best first.
func (r *Request) compare(a, b Server) int {
	assets := func(s *Server) int {
		if r.Replicas > 1 {
			return s.Load.Replicated
		}
		return s.Load.Streams
	}
	return cmp.Or(
		cmp.Compare(r.rank(&a), r.rank(&b)),
		cmp.Compare(a.fullness(), b.fullness()),
		cmp.Compare(assets(&a), assets(&b)),
		cmp.Compare(b.free(), a.free()),
		cmp.Compare(a.Node, b.Node),
	)
}

// fullness is more for a server with a full disk.
func (s *Server) fullness() int {
	if s.Full {
		return 1
	}
	return 0
}

// free is the space that nobody has or has reserved.
func (s *Server) free() int64 {
	if s.MaxStoreBytes < 0 {
		return s.FreeBytes
	}
	left := s.MaxStoreBytes - min(s.Load.Store.Bytes(), s.MaxStoreBytes)
	if s.FreeBytes > 0 {
		return min(left, s.FreeBytes)
	}
	return left
}

// lead returns the nodes, who should lead in front: the first that is kept stands there already.
func lead(r *Request, chosen []Server) []string {
	if len(chosen) > 0 && !slices.Contains(r.Keep, chosen[0].Node) {
		least := slices.IndexFunc(chosen, func(s Server) bool {
			return !slices.ContainsFunc(chosen, func(o Server) bool {
				return cmp.Or(cmp.Compare(o.fullness(), s.fullness()), cmp.Compare(o.Load.Preferred, s.Load.Preferred), cmp.Compare(o.Node, s.Node)) < 0
			})
		})
		chosen[0], chosen[least] = chosen[least], chosen[0]
	}
	var nodes []string
	for i := range chosen {
		nodes = append(nodes, chosen[i].Node)
	}
	return nodes
}

// Choose returns the server that should take over something: one that can be reached and that the placement, nil for any, asks for by name or by
// cluster and tags; of several the one that leads the fewest. The error is a *config.Error whose detail says what is missing.
func Choose(p *config.Placement, servers []Server) (string, error) {
	r := Request{Replicas: 1, Placement: p}
	if p != nil && p.Preferred != "" {
		servers = slices.DeleteFunc(slices.Clone(servers), func(s Server) bool { return s.Name != p.Preferred && s.Node != p.Preferred })
	}
	var best *Server
	var why reasons
	for i := range servers {
		s := &servers[i]
		if reason := r.against(s); reason != "" {
			why.note(reason)
		} else if best == nil || cmp.Or(cmp.Compare(s.Load.Preferred, best.Load.Preferred), cmp.Compare(s.Node, best.Node)) < 0 {
			best = s
		}
	}
	if best == nil {
		return "", why.refusal(1, 0)
	}
	return best.Node, nil
}

// uniqueTag returns the tag of a server that begins with a prefix.
func uniqueTag(tags []string, prefix string) (string, bool) {
	for _, tag := range tags {
		if len(tag) >= len(prefix) && strings.EqualFold(tag[:len(prefix)], prefix) {
			return strings.ToLower(tag), true
		}
	}
	return "", false
}

// reasons counts why servers do not suit, in the order in which the reasons came up.
type reasons struct {
	texts  []string
	counts []int
}

// note counts a server.
func (r *reasons) note(reason string) {
	i := slices.Index(r.texts, reason)
	if i < 0 {
		r.texts, r.counts, i = append(r.texts, reason), append(r.counts, 0), len(r.texts)
	}
	r.counts[i]++
}

// refusal says how many servers are needed, how many there are, and what is wrong with the others.
func (r *reasons) refusal(needed, found int) error {
	var detail strings.Builder
	fmt.Fprintf(&detail, "%s: %d needed, %d found", noPeers, needed, found)
	for i, text := range r.texts {
		fmt.Fprintf(&detail, ", %d %s", r.counts[i], text)
	}
	return &config.Error{Code: NoSuitablePeers, Detail: detail.String()}
}
