package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"runnel/chaos/disk"
	"runnel/chaos/process"
)

const (
	// usualBudget is the memory budget of a server whose scenario needs no other.
	usualBudget = 256 << 20
	// memoryBound and descriptorBound are how much more a server may use afterwards than before; see the package comment. At
	// usualBudget memory tables have 32 MiB and what was read from files 8; the rest is garbage. A file of the store comes with
	// each 16 MiB that are published.
	memoryBound     = 64 << 20
	descriptorBound = 48
	// settleTime is how long that may take, and until the server says that it is well.
	settleTime = 60 * time.Second
	startTime  = 60 * time.Second
	lookEvery  = 50 * time.Millisecond
)

// rig is a server under load.
type rig struct {
	options *Options
	load    Load
	server  *process.Server
	ports   process.Ports
	ledger  *ledger
	room    *disk.Room // nil but for the scenario of the disk
	result  Result

	stopped chan struct{} // closed when nobody looks any more
	looking sync.WaitGroup
	mu      sync.Mutex // guards peak
	peak    Usage
}

func newRig(dir string, o *Options, s Scenario) (*rig, error) {
	var kept process.Ports
	ports, err := kept.Take(2)
	if err != nil {
		return nil, err
	}
	// Only this scenario has its budget from the load: what publishers send has to be more than there is room for.
	limit := s.limitBytes
	switch {
	case s.Name == "memory":
		limit = o.Load.BudgetBytes
	case limit == 0:
		limit = usualBudget
	}
	cfg := process.Config{
		Name: "soak", Client: process.Loopback(ports[0]), Monitor: process.Loopback(ports[1]), StoreDir: filepath.Join(dir, "streams"),
		// More than any scenario opens, so that what ends first is the system's limit or the budget, not a setting.
		Extra: "max_connections: 100000\n",
	}
	r := &rig{options: o, load: o.Load, ports: kept, stopped: make(chan struct{}), result: Result{Scenario: s.Name, Verdict: Passed}}
	if o.Program.Dialect == process.Runnel {
		cfg.Extra += fmt.Sprintf("memory_limit: %d\n", limit)
		r.result.LimitBytes = limit
	}
	r.server, err = process.New(dir, cfg, o.Program, nil)
	return r, err
}

// play runs the scenario and judges what is left of it.
func (r *rig) play(ctx context.Context, s Scenario) error {
	if s.prepare != nil {
		if err := s.prepare(r); err != nil {
			return err
		}
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	r.look()
	// A scenario that could not be run says nothing about the server, so there is nothing to judge then.
	err := s.run(ctx, r)
	if err == nil {
		err = r.judge(ctx)
	}
	close(r.stopped)
	r.looking.Wait()
	r.result.Peak = r.peak
	if limit := r.result.LimitBytes; limit > 0 && r.peak.MemoryBytes > limit {
		r.violated("the memory budget was not kept: %s of %s", mib(r.peak.MemoryBytes), mib(limit))
	}
	return err
}

// begin starts the server, has it do a little of what it does later, and notes what it uses then.
func (r *rig) begin(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := r.server.Start(limited); err != nil {
		return err
	}
	if err := r.server.Ready(limited); err != nil {
		return err
	}
	var err error
	if r.ledger, err = openLedger(limited, r.server.ClientURL()); err != nil {
		return err
	}
	// Publishing and reading once makes what a server makes at first use, such as files and caches. If it were not there before, it
	// would count as not given back.
	if err := r.ledger.some(limited, 100, 1<<10); err != nil {
		return fmt.Errorf("publish to a server that has nothing else to do: %w", err)
	}
	if _, err := r.ledger.read(limited); err != nil {
		return err
	}
	r.result.Before, err = r.usage()
	return err
}

// usage is what the server uses now.
func (r *rig) usage() (Usage, error) {
	f, err := r.server.Figures()
	return Usage{MemoryBytes: f.ResidentBytes, Descriptors: f.Descriptors}, err
}

// look notes again and again what the server uses, until nobody looks any more.
func (r *rig) look() {
	r.looking.Go(func() {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		for {
			select {
			case <-r.stopped:
				return
			case <-ticker.C:
			}
			// A look that fails is of a server that has ended, or is about to; the verdict on that is judge's.
			if u, err := r.usage(); err == nil {
				r.note(u)
			}
		}
	})
}

// note raises the peak. The two figures have their peaks at times of their own.
func (r *rig) note(u Usage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.peak.MemoryBytes = max(r.peak.MemoryBytes, u.MemoryBytes)
	r.peak.Descriptors = max(r.peak.Descriptors, u.Descriptors)
}

// judge looks whether the server is as it was.
func (r *rig) judge(ctx context.Context) error {
	// First whether it is well, since what is read of a server that is still busy would be too little; what it uses comes last, as it
	// may need a while to give it back.
	r.recover(ctx)
	if err := r.server.Err(); err != nil {
		r.violated("the server has ended by itself: %v", err)
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	missing, err := r.ledger.missing(limited)
	if err != nil {
		r.violated("what was acknowledged cannot be read: %v", err)
	}
	r.result.Acked, r.result.Unsure, r.result.Missing = r.ledger.count(), r.ledger.unanswered(), len(missing)
	if len(missing) > 0 {
		r.violated("%d of %d acknowledged messages are missing, such as %s", len(missing), r.result.Acked, missing[0])
	}
	r.settle(ctx)
	return nil
}

// recover waits until the server says that it is well, and takes a message.
func (r *rig) recover(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	began := time.Now()
	var last error
	ok := until(limited, func() bool {
		text, err := r.server.Get(limited, "/healthz")
		if err == nil && strings.Contains(string(text), "degraded") {
			err = fmt.Errorf("it says %s", text)
		}
		if err == nil {
			// To say so is not enough: one that takes no message is not well.
			err = r.ledger.some(limited, 1, 100)
		}
		if err != nil {
			last = err
		}
		return err == nil
	})
	if !ok {
		r.violated("it is not well %v after the load has ended: %v", settleTime, last)
		return
	}
	r.noted("well after %v", time.Since(began).Round(time.Millisecond))
}

// settle waits until the server uses about as much as before.
func (r *rig) settle(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	before := r.result.Before
	high := func(u Usage) bool { return u.MemoryBytes > before.MemoryBytes+memoryBound }
	many := func(u Usage) bool { return u.Descriptors > before.Descriptors+descriptorBound }
	// The last look is what counts, in time or not: the two conditions below ask it again.
	until(limited, func() bool {
		u, err := r.usage()
		r.result.After = u
		return err == nil && !high(u) && !many(u)
	})
	after := r.result.After
	if high(after) {
		r.violated("%s of memory are in use, before it was %s", mib(after.MemoryBytes), mib(before.MemoryBytes))
	}
	if many(after) {
		r.violated("%d descriptors are open, before it was %d", after.Descriptors, before.Descriptors)
	}
}

// until waits until a condition holds; false when ctx has ended before.
func until(ctx context.Context, condition func() bool) bool {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// end ends the server, and removes what it has kept if nothing is to be looked at.
func (r *rig) end() error {
	if r.ledger != nil {
		r.ledger.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	err := errors.Join(r.server.Stop(ctx), r.ports.Close())
	if r.room != nil {
		err = errors.Join(err, r.room.Close())
	}
	if err == nil && r.result.Verdict != Violated {
		err = os.RemoveAll(r.server.StoreDir())
	}
	return err
}

// violated notes what the server must not have done. The verdict stays from then on, whatever else goes well. Only the goroutine
// that runs the scenario may call it, and noted.
func (r *rig) violated(format string, args ...any) {
	r.result.Verdict = Violated
	r.result.Why = append(r.result.Why, fmt.Sprintf(format, args...))
}

// noted adds a figure that is of interest and does not count.
func (r *rig) noted(format string, args ...any) {
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, args...))
}

// mib is a size in words.
func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
