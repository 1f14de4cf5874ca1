package replicas

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"runnel/cluster/group"
	"runnel/cluster/meta/state"
	"runnel/jetlog/store"
)

// serviceLeave is the call by which a replica that has lost something asks to be taken out of its group.
const serviceLeave = "replicas.leave"

// leaveTime bounds how long that may take.
const leaveTime = 10 * time.Second

// toReplica makes what this server has alone the first replica of a group.
func (r *replica) toReplica(a *state.Assignment, t *store.Stream) error {
	if !r.h.caught.Load() {
		return nil
	}
	if source := a.Source(); len(source) != 1 || source[0] != r.h.cfg.Self {
		return fmt.Errorf("the stream is here without a group, but it is to come from %v", source)
	}
	r.unserve()
	if err := r.h.cfg.Store.ToReplica(t, laterPlace(a.Version, r.h.cfg.Self)); err != nil {
		return err
	}
	return r.open(a, t)
}

// Each group that a stream has one after the other has so many indexes and terms for itself, by the version of its assignment.
const (
	groupIndexes = 1 << 40
	groupTerms   = 1 << 32
)

// laterPlace is where a group begins whose stream may have had another group before: its indexes and terms are beyond
// all that were, so that a replica of then can be told from one of now.
func laterPlace(version uint64, self string) group.Place {
	p := group.Birth([]string{self})
	p.Index += version * groupIndexes
	p.Term += version * groupTerms
	return p
}

// toSolo ends the group of a stream that this server has alone.
func (r *replica) toSolo(a *state.Assignment, t *store.Stream) error {
	if !r.h.caught.Load() {
		return r.open(a, t)
	}
	// What was confirmed may be in the log of the group alone: it is all applied once this server leads. The meta group was
	// told that the others have left by a leader, which must be here.
	if err := r.open(a, t); err != nil {
		return err
	}
	if s := r.group.Load().Status(); !s.Leads || len(s.Peers) > 0 {
		return errLater
	}
	r.shutGroup()
	if err := r.h.cfg.Store.ToSolo(t); err != nil {
		return err
	}
	r.serve(t)
	return nil
}

// rejoin gives up a replica that is not what it should be: once it has no vote any more, it begins as one that has nothing.
func (r *replica) rejoin(a *state.Assignment, t *store.Stream, why error) error {
	r.opened(t)
	r.handOver()
	r.shutGroup()
	if !r.h.caught.Load() || a.Solo() {
		return nil
	}
	if r.wipedLately() {
		return errLater
	}
	if err := r.askToLeave(a); err != nil {
		r.h.logger.Warn("a replica is damaged, and no leader can take it out of its group", "stream", nameOf(a), "id", r.id, "damage", why, "error", err)
		return errLater
	}
	fresh, err := r.h.cfg.Store.Wipe(t)
	if err != nil {
		return err
	}
	r.h.logger.Warn("a replica was damaged; it gets all from the others", "stream", nameOf(a), "id", r.id, "damage", why)
	r.forgive()
	r.opened(fresh)
	return r.open(a, fresh)
}

// wipeEvery is how long a replica stays away that is damaged again.
const wipeEvery = time.Minute

func (r *replica) wipedLately() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.wiped.IsZero() && time.Since(r.wiped) < wipeEvery
}

// forgive says that what is here is good.
func (r *replica) forgive() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost, r.broken, r.compared, r.wiped = nil, nil, comparison{}, time.Now()
}

// askToLeave asks all others, of whom one may lead.
func (r *replica) askToLeave(a *state.Assignment) error {
	ctx, cancel := context.WithTimeout(r.h.ctx, leaveTime)
	defer cancel()
	var errs []error
	for _, node := range a.Peers {
		if node == r.h.cfg.Self {
			continue
		}
		_, err := r.h.cfg.Transport.Call(ctx, node, serviceLeave, binary.LittleEndian.AppendUint64(nil, r.id))
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// serveLeave takes the caller out of a group that is led here. It comes back as a member without a vote, as it is assigned still.
func (h *Replicas) serveLeave(ctx context.Context, from string, request []byte) ([]byte, error) {
	if len(request) != 8 {
		return nil, errRequest
	}
	r := h.replica(binary.LittleEndian.Uint64(request))
	if r == nil {
		return nil, ErrUnknown
	}
	g := r.group.Load()
	if g == nil || !g.Status().Leads {
		return nil, group.ErrNotLeader
	}
	h.logger.Warn("a replica is damaged and leaves its group for a while", "id", r.id, "node", from)
	if err := r.hear(ctx, g, from, false); err != nil {
		return nil, err
	}
	r.soon()
	return nil, g.Remove(ctx, from)
}
