package check

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"runnel/chaos/history"
)

// step is what one operation wants of the revision of a register, and what it makes of it.
type step struct {
	kind     stepKind
	from, to uint64
	origin   *history.Operation
}

type stepKind uint8

const (
	stepSwap   stepKind = iota // the revision is from, and becomes to
	stepRefuse                 // the revision is not from
	stepRead                   // the revision is to
	stepMaybe                  // if the revision is from, it may become another that nobody saw
)

// unseen is the revision that a change has made of which nothing else is known, and which nothing has
// replaced.
const unseen = math.MaxUint64

// checkOrder looks for an order of the operations that explains all answers. First it takes the swaps of which
// nothing is known as not having happened, which is quick and mostly enough; only if there is no order then,
// it looks for one in which some of them have.
//
// The search takes memory by the square of the operations. So it is done for each part of the history between
// two times at which no operation was going on. The revision at such a time is that of the newest swap before it,
// unless one of which nothing is known has happened: from where that is needed on, the rest is one part.
func (r *register) checkOrder(c *collector, chain []link, cfg RegistersConfig) {
	steps := r.steps(chain, cfg)
	revision := uint64(0)
	done := 0
	for _, part := range parts(steps) {
		model := exact(revision)
		result := porcupine.CheckOperationsTimeout(model, part, cfg.Timeout)
		if result == porcupine.Illegal {
			if maybe := r.maybes(revision); len(maybe) > 0 {
				model, part = guessing(revision, r.orphans(chain)), append(slices.Clip(steps[done:]), maybe...)
				result = porcupine.CheckOperationsTimeout(model, part, cfg.Timeout)
			}
		}
		switch result {
		case porcupine.Unknown:
			c.add(Unchecked, "", origins(part), "within %v no order of %d operations on %q was found, nor that there is none", cfg.Timeout, len(part), r.key)
			return // what comes later stems from this
		case porcupine.Illegal:
			_, info := porcupine.CheckOperationsVerbose(model, part, cfg.Timeout)
			c.add(Impossible, "", stuck(info, part), "no order of %d operations on %q explains their answers", len(part), r.key)
			return
		}
		if done += len(part); done >= len(steps) {
			return
		}
		for _, o := range part {
			if s := o.Input.(step); s.kind == stepSwap {
				revision = max(revision, s.to)
			}
		}
	}
}

// parts cuts a history where no operation was going on.
func parts(steps []porcupine.Operation) [][]porcupine.Operation {
	slices.SortStableFunc(steps, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var all [][]porcupine.Operation
	begin, end := 0, int64(-1)
	for i, o := range steps {
		if o.Call > end && i > begin {
			all = append(all, slices.Clip(steps[begin:i]))
			begin = i
		}
		end = max(end, o.Return)
	}
	if begin < len(steps) {
		all = append(all, slices.Clip(steps[begin:]))
	}
	return all
}

// steps are the operations of which something is known.
func (r *register) steps(chain []link, cfg RegistersConfig) []porcupine.Operation {
	var all []porcupine.Operation
	add := func(s step, end time.Duration) {
		all = append(all, porcupine.Operation{
			ClientId: s.origin.Process, Input: s, Call: int64(s.origin.Start), Return: int64(max(end, s.origin.Start)),
		})
	}
	for _, l := range chain {
		add(step{stepSwap, l.from, l.to, l.swap}, l.by)
	}
	for _, o := range r.swaps {
		if cfg.Refusals && o.Result == history.Failed {
			add(step{stepRefuse, o.Expected, 0, o}, o.End)
		}
	}
	for _, o := range r.reads {
		if o.Kind == history.Get && !cfg.StaleLeaders {
			add(step{stepRead, 0, o.Sequence, o}, o.End)
		}
	}
	return all
}

// maybes are the swaps of which nothing is known and that could be made at a revision or a later one.
func (r *register) maybes(revision uint64) []porcupine.Operation {
	var all []porcupine.Operation
	for _, o := range r.swaps {
		if o.Result == history.Unknown && r.at[o.Value] == nil && o.Expected >= revision {
			all = append(all, porcupine.Operation{
				ClientId: o.Process, Input: step{stepMaybe, o.Expected, 0, o}, Call: int64(o.Start), Return: never,
			})
		}
	}
	return all
}

// orphans are revisions that somebody knew of and that no known change has made, so that one of those of
// which nothing is known must have.
func (r *register) orphans(chain []link) []uint64 {
	made := map[uint64]bool{0: true}
	for _, l := range chain {
		made[l.to] = true
	}
	var all []uint64
	for _, o := range r.swaps {
		if o.Result != history.Failed && !made[o.Expected] {
			made[o.Expected] = true
			all = append(all, o.Expected)
		}
	}
	return all
}

// apply makes the step from a revision; it says whether that can be.
func (s step) apply(revision uint64) (next uint64, ok bool) {
	switch s.kind {
	case stepSwap:
		return s.to, revision == s.from
	case stepRefuse:
		return revision, revision != s.from
	case stepRead:
		return revision, revision == s.to
	}
	return revision, true
}

// exact is the model of a register of which every change is known.
func exact(revision uint64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return revision },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := input.(step).apply(state.(uint64))
			return ok, next
		},
	}
}

// guessing is the model in which a change of which nothing is known may have made any of the orphans, or a
// revision that nobody saw, or nothing.
func guessing(revision uint64, orphans []uint64) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{revision} },
		Step: func(state, input, _ any) []any {
			revision, s := state.(uint64), input.(step)
			next, ok := s.apply(revision)
			if !ok {
				return nil
			}
			all := []any{next}
			if s.kind == stepMaybe && revision == s.from {
				all = append(all, uint64(unseen))
				for _, o := range orphans {
					if o > revision {
						all = append(all, o)
					}
				}
			}
			return all
		},
	}
	return m.ToModel()
}

// stuck are the operations that ended first of those that the longest order that could be found leaves out.
func stuck(info porcupine.LinearizationInfo, part []porcupine.Operation) []*history.Operation {
	ordered := map[*history.Operation]bool{}
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, p := range partition {
			if len(p) <= len(ordered) {
				continue
			}
			clear(ordered)
			for _, o := range p {
				ordered[o.Input.(step).origin] = true
			}
		}
	}
	left := slices.DeleteFunc(origins(part), func(o *history.Operation) bool { return ordered[o] })
	slices.SortFunc(left, func(a, b *history.Operation) int { return cmp.Compare(a.End, b.End) })
	return left
}

// origins are the operations of the history that a part is made of.
func origins(part []porcupine.Operation) []*history.Operation {
	all := make([]*history.Operation, 0, len(part))
	for _, o := range part {
		all = append(all, o.Input.(step).origin)
	}
	return all
}
