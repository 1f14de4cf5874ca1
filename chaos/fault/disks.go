package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"time"

	"runnel/chaos/disk"
	"runnel/chaos/process"
)

// disks are faults of the disk of one server. What the others have is not touched, and before the disk of one fails all of them are
// well: so nothing that was acknowledged may be lost, and what is damaged must be repaired or told of.
func disks() []Kind {
	traced := func(*Runner) error { return disk.Tracing() }
	mounted := func(*Runner) error { return disk.Mounting() }
	return []Kind{
		{Name: "damage-wal", Text: "one server is killed and its log damaged", Takes: One, Least: 3, do: damage(disk.Log)},
		{Name: "damage-files", Text: "one server is killed and a file of messages damaged", Takes: One, Least: 3, do: damage(disk.Data)},
		{Name: "damage-meta", Text: "one server is killed and a file damaged that says what it has", Takes: One, Least: 3, do: damage(disk.Meta)},
		{Name: "damage-any", Text: "one server is killed and any file damaged", Takes: One, Least: 3, do: damage(disk.Any)},
		{Name: "disk-eio", Text: "the disk of one server fails to sync, once or from then on", Takes: One, Least: 3, do: failSyncs, missing: traced},
		{Name: "disk-full", Text: "the disk of one server is full", Takes: One, Least: 3, do: fill, missing: mounted},
		{Name: "disk-read-only", Text: "the disk of one server becomes read-only", Takes: One, Least: 3, do: readOnly, missing: mounted},
		{Name: "forget", Text: "one server is killed and loses what it has written and not synced", Takes: One, Least: 3, do: forget, missing: traced},
		{Name: "forget-all", Text: "all are killed at once and lose what they have written and not synced", Takes: All, do: forget, missing: traced},
	}
}

const (
	// reviveTime is how long a damaged server may take to be ready. Then whoever looks after it gives its disk up.
	reviveTime = 20 * time.Second
	// syncsMax is how many calls a thread makes at most before one fails.
	syncsMax = 20
	// roomBytes is how much a server may write that is on a small disk, before that becomes full.
	roomBytes = 512 << 20
)

// What servers say as errors: one whose disk was damaged or fails, of what it finds there; and the others, of the replica that it has.
var (
	harmedLog = regexp.MustCompile(`(?i)damage|corrupt|checksum|halted|has failed|ended by itself|input/output error|no space left|disk (is|has|full)|` +
		`nearly full|read-only file system|no such file|cannot|unable to|could not|error (opening|recovering|loading|reading|writing)|missing`)
	otherLog = regexp.MustCompile(`(?i)replica|damage|corrupt|catch ?up`)
)

// expectDamage has a server be allowed to tell of its disk, and the others of what they see of it.
func expectDamage(c *process.Cluster, harmed *process.Server) {
	harmed.ExpectLog(harmedLog)
	for _, s := range c.Others(harmed) {
		s.ExpectLog(otherLog)
	}
}

// random is where a step takes its choices from; the seed of the plan is in its times.
func (s Step) random() *rand.Rand { return rand.New(rand.NewPCG(uint64(s.At), uint64(s.For))) }

// damage is a fault that damages a file of some class of the first server.
func damage(class disk.Class) func(context.Context, *Runner, Step, []*process.Server) error {
	return func(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
		if err := r.settle(ctx); err != nil {
			return err
		}
		victim, random := servers[0], s.random()
		form, leads := disk.Form(random.IntN(disk.Forms)), random.IntN(2) == 0
		if s.Form != "" {
			var err error
			if form, err = disk.FormOf(s.Form); err != nil {
				return err
			}
			leads = true
		}
		f := disk.Folder{Dir: victim.StoreDir(), Dialect: victim.Program().Dialect, Random: random}
		// What the file was has to be kept before there is more in it: half of the time passes first.
		if form == disk.RollBack {
			f.Older = f.Dir + ".older"
			defer os.RemoveAll(f.Older) // it is in the folder of the run, where nothing is in its way
			if err := errors.Join(victim.Pause(), disk.Copy(f.Dir, f.Older), resume(victim), sleep(ctx, s.For/2)); err != nil {
				return err
			}
		}
		expectDamage(r.Cluster, victim)
		err := victim.Kill()
		if err == nil {
			err = r.harm(f, class, form)
		}
		err = errors.Join(err, r.last(ctx, s.For/2, func(ctx context.Context) error { return r.revive(ctx, victim, leads) }))
		return errors.Join(err, r.outlive(ctx, victim))
	}
}

// harm damages a file, and notes what was done to it.
func (r *Runner) harm(f disk.Folder, class disk.Class, form disk.Form) error {
	d, err := f.Damage(class, form)
	switch {
	case errors.Is(err, disk.ErrNothing) && class == disk.Data:
		r.note("there are no files of messages yet, so any one is damaged")
		return r.harm(f, disk.Any, form)
	case errors.Is(err, disk.ErrUnchanged):
		r.note(err.Error()) // that is how it would be
		return nil
	case err != nil:
		return undone{err}
	}
	r.note(d.String())
	return nil
}

// undone is why a fault has not been done, which it is told of even if the run ends meanwhile.
type undone struct{ error }

func (e undone) Unwrap() error { return e.error }

// revive starts a server whose disk was damaged, and may have it lead what it can. One that ends or is not ready in time becomes a new
// machine, as the manuals of all servers say.
func (r *Runner) revive(ctx context.Context, s *process.Server, leads bool) error {
	if err := s.LaunchDoomed(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, reviveTime)
	defer cancel()
	err := s.WaitListening(limited)
	if err == nil {
		err = r.Cluster.WaitReady(limited)
	}
	if err == nil && leads {
		n, err := lead(limited, s)
		r.note(fmt.Sprintf("it was asked to lead %d streams", n))
		if err != nil {
			r.note(fmt.Sprintf("and did not: %v", err))
		}
	}
	if _, up := s.PID(); up && err == nil {
		return nil
	}
	return r.renew(ctx, s)
}

// renew has a server start with an empty disk.
func (r *Runner) renew(ctx context.Context, s *process.Server) error {
	r.note("it did not come back, and was given an empty disk")
	return errors.Join(s.Kill(), s.Wipe(), s.Start(ctx))
}

// outlive waits until all servers are ready, and gives up the disk of a damaged one with which they do not become so: it may come upon the
// damage only when it is at work.
func (r *Runner) outlive(ctx context.Context, s *process.Server) error {
	err := r.settle(ctx)
	if _, up := s.PID(); up && (err == nil || ctx.Err() != nil) {
		return err
	}
	err = r.last(ctx, 0, func(ctx context.Context) error { return r.renew(ctx, s) })
	return errors.Join(err, r.settle(ctx))
}

// again starts a server that may have ended, and may run.
func again(ctx context.Context, r *Runner, s *process.Server) error {
	if _, up := s.PID(); !up {
		r.note("it has ended")
	}
	return errors.Join(s.Kill(), s.Start(ctx))
}

// failSyncs has calls to sync fail while the server runs. One that notices ends, and must never say again that the lost pages are safe; one
// that does not is killed in the end, as if somebody had seen it.
func failSyncs(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
	if err := r.settle(ctx); err != nil {
		return err
	}
	victim, random := servers[0], s.random()
	// Once is an error that passes, onward a disk that has failed for good; a server must take both as the end of what it knows.
	n, onward := 1+random.IntN(syncsMax), random.IntN(2) == 0
	pid, _ := victim.PID()
	expectDamage(r.Cluster, victim)
	if err := victim.ExpectEnd(); err != nil {
		return err
	}
	stop, err := disk.FailSyncs(ctx, pid, n, onward)
	if err != nil {
		return errors.Join(err, again(ctx, r, victim))
	}
	r.note(fmt.Sprintf("call %d of a thread to sync, and all after it: %v", n, onward))
	err = r.last(ctx, s.For, func(ctx context.Context) error {
		stop()
		return again(ctx, r, victim)
	})
	return errors.Join(err, r.settle(ctx))
}

// fill moves the server to a small disk, which becomes full when the server is well there, has room again, and is given up for the old one.
// That the server ends, refuses or hands over what it leads is all right.
func fill(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
	victim := servers[0]
	if err := errors.Join(r.settle(ctx), victim.Stop(ctx)); err != nil {
		return err
	}
	room, err := disk.NewRoom(victim.StoreDir(), roomBytes)
	if err != nil {
		return errors.Join(err, victim.Start(ctx))
	}
	expectDamage(r.Cluster, victim)
	err = victim.Start(ctx)
	if err == nil {
		err = errors.Join(victim.ExpectEnd(), r.settle(ctx))
	}
	if err == nil {
		err = room.Fill()
	}
	// If it could not be filled there is nothing to wait for, but all is undone the same.
	lasts := s.For
	if err != nil {
		lasts = 0
	}
	err = errors.Join(err, r.last(ctx, lasts, func(ctx context.Context) error {
		if _, up := victim.PID(); !up {
			r.note("it has ended")
		}
		return errors.Join(room.Grow(), victim.Kill(), room.Close(), victim.Start(ctx))
	}))
	return errors.Join(err, r.settle(ctx))
}

// readOnly has nobody make or open a file, while those that are open can be written.
func readOnly(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
	victim := servers[0]
	if err := errors.Join(r.settle(ctx), victim.ExpectEnd()); err != nil {
		return err
	}
	expectDamage(r.Cluster, victim)
	undo, err := disk.ReadOnly(victim.StoreDir())
	if err != nil {
		return errors.Join(err, again(ctx, r, victim))
	}
	err = r.last(ctx, s.For, func(ctx context.Context) error { return errors.Join(undo(), again(ctx, r, victim)) })
	return errors.Join(err, r.settle(ctx))
}
