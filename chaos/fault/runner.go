package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"runnel/chaos/history"
	"runnel/chaos/process"
)

// undoTime is how long undoing may take, also once the run is to end.
const undoTime = time.Minute

// Runner carries plans out. One goroutine uses it. In the history its faults are those of process 0.
type Runner struct {
	Cluster *process.Cluster
	History *history.Recorder
	// Tell, if it is not nil, is told of each step when it begins and, with how it went, when it ends.
	Tell func(s Step, ended bool, err error)

	notes []string // what exactly the fault has done that is being done
}

// Run carries a plan out until it or ctx ends, and leaves the cluster healed. A fault that could not be done or undone is noted in the
// history as failed, and the plan goes on; an error is returned only if the cluster cannot be healed.
func (r *Runner) Run(ctx context.Context, plan []Step) error {
	start := time.Now()
	for _, s := range plan {
		if err := sleep(ctx, time.Until(start.Add(s.At))); err != nil {
			break
		}
		if err := r.step(ctx, s); err != nil {
			return err
		}
	}
	return r.heal(ctx)
}

// step does one fault.
func (r *Runner) step(ctx context.Context, s Step) error {
	kinds, err := Find(s.Kind)
	if err != nil {
		return err
	}
	servers := r.servers(s)
	r.tell(s, false, nil)
	r.notes = nil
	began := r.History.Now()
	err = kinds[0].do(ctx, r, s, servers)
	if ctx.Err() != nil && !errors.As(err, new(undone)) {
		err = nil // it was cut short by the end of the run
	}
	r.record(s, servers, began, err)
	r.tell(s, true, err)
	if err != nil {
		return r.heal(ctx)
	}
	return nil
}

// servers are those of a step, as the cluster is by now. A server that was replaced has a successor in its place.
func (r *Runner) servers(s Step) []*process.Server {
	all := r.Cluster.Servers()
	var chosen []*process.Server
	for _, i := range s.Servers {
		chosen = append(chosen, all[i%len(all)])
	}
	return chosen
}

// record notes a fault, once for each server it was done to.
func (r *Runner) record(s Step, servers []*process.Server, began time.Duration, err error) {
	o := history.Operation{Kind: history.Fault, Value: s.Kind, Key: strings.Join(r.notes, "; "), Start: began, End: r.History.Now(), Result: history.OK}
	if err != nil {
		o.Result, o.Error = history.Failed, err.Error()
	}
	for _, server := range servers {
		o.Node = server.Name()
		r.History.Record(o)
	}
}

// note adds to what the history says of the fault that is being done.
func (r *Runner) note(text string) { r.notes = append(r.notes, text) }

func (r *Runner) tell(s Step, ended bool, err error) {
	if r.Tell != nil {
		r.Tell(s, ended, err)
	}
}

// heal undoes everything, also when ctx has ended.
func (r *Runner) heal(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	if err := r.Cluster.Heal(ctx); err != nil {
		return fmt.Errorf("heal the cluster: %w", err)
	}
	return nil
}

// last lets a fault last, and undoes it by undo even if ctx ends meanwhile.
func (r *Runner) last(ctx context.Context, d time.Duration, undo func(ctx context.Context) error) error {
	waited := sleep(ctx, d)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	return errors.Join(undo(after), waited)
}

// sleep waits, or returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
