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

// mayStay stands behind the stream in a request of a replica that takes part still; goodFiles is an answer to that.
const (
	mayStay   = 1
	goodFiles = 1
)

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
	if _, err := r.askToLeave(a, true); err != nil {
		r.h.logger.Warn("a replica is damaged, and no leader can take it out of its group", "stream", nameOf(a), "id", r.id, "damage", why, "error", err)
		return errLater
	}
	return r.renew(a, t, why)
}

// mend has a replica with damaged files get all from the others. It knows all that it has voted for and confirmed, so it takes part until a
// leader has taken it out that knows of no damage to what itself has: what can still be read here may be damaged there.
func (r *replica) mend(a *state.Assignment, t *store.Stream) error {
	if !r.h.caught.Load() || a.Solo() || r.wipedLately() {
		return nil
	}
	heir, err := r.askToLeave(a, false)
	if g := r.group.Load(); err != nil && heir != "" && g.Leader() == r.h.cfg.Self {
		ctx, cancel := context.WithTimeout(r.h.ctx, handOverTime)
		defer cancel()
		err = errors.Join(err, g.StepDown(ctx, heir))
	}
	if err != nil {
		r.h.logger.Warn("files of a replica are damaged, and no leader with good ones can take it out of its group",
			"stream", nameOf(a), "id", r.id, "damage", t.Harm(), "error", err)
		return nil // it is looked at again
	}
	r.shutGroup()
	return r.renew(a, t, t.Harm())
}

// renew gives up what a replica has that is no member of its group any more, and begins with nothing.
func (r *replica) renew(a *state.Assignment, t *store.Stream, why error) error {
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

// askToLeave asks all others, of whom one may lead. Who must leave cannot stay, whatever the others have. If none of them leads, heir is
// one whose files are good; empty if none is known.
func (r *replica) askToLeave(a *state.Assignment, must bool) (heir string, err error) {
	request := binary.LittleEndian.AppendUint64(nil, r.id)
	if !must {
		request = append(request, mayStay)
	}
	ctx, cancel := context.WithTimeout(r.h.ctx, leaveTime)
	defer cancel()
	var errs []error
	for _, node := range a.Peers {
		if node == r.h.cfg.Self {
			continue
		}
		answer, err := r.h.cfg.Transport.Call(ctx, node, serviceLeave, request)
		switch {
		case err == nil && len(answer) == 0:
			return "", nil
		case err == nil:
			heir, err = node, group.ErrNotLeader
		}
		errs = append(errs, err)
	}
	return heir, errors.Join(errs...)
}

// serveLeave takes the caller out of a group that is led here. It comes back as a member without a vote, as it is assigned still. Who need not
// leave is answered with goodFiles by a server that does not lead, but could, and has nothing damaged.
func (h *Replicas) serveLeave(ctx context.Context, from string, request []byte) ([]byte, error) {
	must := len(request) == 8
	if !must && (len(request) != 9 || request[8] != mayStay) {
		return nil, errRequest
	}
	r := h.replica(binary.LittleEndian.Uint64(request))
	if r == nil {
		return nil, ErrUnknown
	}
	g := r.group.Load()
	if g == nil {
		return nil, group.ErrNotLeader
	}
	harm := r.agreed.Load().Harm()
	switch s := g.Status(); {
	case harm != nil && !must:
		return nil, fmt.Errorf("files are damaged here too: %w", harm)
	case !s.Leads && (must || !s.Current()):
		return nil, group.ErrNotLeader
	case !s.Leads:
		return []byte{goodFiles}, nil
	}
	h.logger.Warn("a replica is damaged and leaves its group for a while", "id", r.id, "node", from)
	if err := r.hear(ctx, g, from, false); err != nil {
		return nil, err
	}
	r.soon()
	return nil, g.Remove(ctx, from)
}
