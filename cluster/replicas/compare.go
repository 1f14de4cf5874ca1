package replicas

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"runnel/jetlog/store"
)

// serviceHash is the call by which a leader asks for the state of another replica at an entry, and tells its own.
const serviceHash = "replicas.hash"

// ErrDiverged says that the state of a replica is not that of the majority.
var ErrDiverged = errors.New("the state of the replica is not that of the majority")

// comparison is the state as of an entry.
type comparison struct{ index, hash uint64 }

const (
	compareWait  = time.Second // between attempts to hear from a replica that has not got there yet
	compareTries = 10
	compareTime  = 5 * time.Second // for one answer
)

// compare notes the state as of an entry; the leader then asks the others for theirs. It is called while the group applies.
func (r *replica) compare(index uint64, t *store.Stream) {
	_, hash := t.Hash()
	r.mu.Lock()
	r.compared = comparison{index, hash}
	r.mu.Unlock()
	if g := r.group.Load(); g != nil && g.Leader() == r.h.cfg.Self {
		r.h.spawn(func() { r.judge(comparison{index, hash}) })
	}
}

// judge finds out whose state is not that of the majority.
func (r *replica) judge(mine comparison) {
	g := r.group.Load()
	if g == nil {
		return
	}
	voters := 1
	found := map[string]uint64{r.h.cfg.Self: mine.hash}
	for _, p := range g.Status().Peers {
		if p.Voter {
			voters++
		}
		if hash, ok := r.hashOf(p.Node, mine.index); ok {
			found[p.Node] = hash
		}
	}
	counts := map[uint64]int{}
	for _, hash := range found {
		counts[hash]++
	}
	if len(counts) == 1 {
		return
	}
	right, known := uint64(0), false
	for hash, n := range counts {
		if n > voters/2 {
			right, known = hash, true
		}
	}
	a := r.assignment()
	r.h.logger.Error("replicas of a stream differ", "stream", nameOf(a), "id", r.id, "index", mine.index, "states", found, "repaired", known)
	if !known {
		return
	}
	for node, hash := range found {
		if hash != right {
			r.accuse(node, comparison{mine.index, right})
		}
	}
}

// hashOf asks a replica for its state at an entry, until it has got there.
func (r *replica) hashOf(node string, index uint64) (hash uint64, ok bool) {
	for range compareTries {
		if !r.h.sleep(compareWait) {
			return 0, false
		}
		answer, err := r.ask(node, comparison{index: index})
		if err == nil && len(answer) == 8 {
			return binary.LittleEndian.Uint64(answer), true
		}
	}
	return 0, false
}

// accuse tells a replica that its state is wrong.
func (r *replica) accuse(node string, right comparison) {
	if _, err := r.ask(node, right); err != nil {
		r.h.logger.Warn("a replica that differs could not be told", "id", r.id, "node", node, "error", err)
	}
}

// ask calls serviceHash: the stream (8), the index (8), and the hash of the majority (8) if it is known, all in little endian.
func (r *replica) ask(node string, c comparison) ([]byte, error) {
	ctx, cancel := context.WithTimeout(r.h.ctx, compareTime)
	defer cancel()
	request := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, r.id), c.index)
	if c.hash != 0 {
		request = binary.LittleEndian.AppendUint64(request, c.hash)
	}
	return r.h.cfg.Transport.Call(ctx, node, serviceHash, request)
}

// serveHash answers with the state at an entry. If the caller says what it should be and it is not, the replica is given up.
func (h *Replicas) serveHash(_ context.Context, from string, request []byte) ([]byte, error) {
	if len(request) != 16 && len(request) != 24 {
		return nil, errRequest
	}
	r := h.replica(binary.LittleEndian.Uint64(request))
	if r == nil {
		return nil, ErrUnknown
	}
	r.mu.Lock()
	mine := r.compared
	r.mu.Unlock()
	if mine.index != binary.LittleEndian.Uint64(request[8:]) {
		return nil, errors.New("the replica has not looked at that entry")
	}
	if len(request) == 24 && binary.LittleEndian.Uint64(request[16:]) != mine.hash {
		h.logger.Error("the state of a replica here is not that of the majority", "id", r.id, "index", mine.index, "says", from)
		r.diverged()
	}
	return binary.LittleEndian.AppendUint64(nil, mine.hash), nil
}
