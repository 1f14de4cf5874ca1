package memory

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"
)

// Step is how scarce memory is.
type Step int32

// Steps, each with what it does and all that those before it do.
const (
	Calm Step = iota
	Tight
	Slow
	Stopped
)

// String returns the word that monitoring and the log have for a step.
func (s Step) String() string {
	return [...]string{Calm: "calm", Tight: "tight", Slow: "slow", Stopped: "stopped"}[s]
}

// MarshalText writes the word.
func (s Step) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// From which percentage of the goal on a step is taken, and below which it is left.
var (
	enterPercent = [...]int64{Tight: 60, Slow: 75, Stopped: 90}
	leavePercent = [...]int64{Tight: 55, Slow: 70, Stopped: 85}
)

const (
	// lookCalm and lookScarce are the pauses between two looks.
	lookCalm   = 100 * time.Millisecond
	lookScarce = 50 * time.Millisecond
	// collectEvery is how old may be what is known of the heap while memory is scarce: who is slowed down makes little garbage, so
	// that it would not be collected for minutes.
	collectEvery = time.Second
	// relieveEvery is the pause between two reliefs as long as the first has not helped.
	relieveEvery = 5 * time.Second
)

// Config says how memory is kept.
type Config struct {
	Budget Budget
	// Relieve makes room that can be made: it flushes memory tables, and drops caches. It may take long.
	Relieve func()
	// Changed is told of each new step, one after the other. It must not block.
	Changed func(Step)
	Logger  *slog.Logger
	// Usage measures, and Collect collects garbage: Go's by default.
	Usage   func() Usage
	Collect func()
	Clock   func() time.Time
}

// A Keeper watches memory while Run runs. Its other methods are safe for concurrent use, and cost nothing: what they return was found
// out before.
type Keeper struct {
	cfg     Config
	step    atomic.Int32
	pace    atomic.Int64 // see Hold; 0: as fast as they like
	seen    atomic.Pointer[State]
	refused atomic.Uint64

	// Of Run alone.
	last     Usage
	since    time.Time // the step was taken
	scarce   time.Time // memory has been scarce, zero while it is not
	episodes int64
	peak     int64     // since memory is scarce
	measured time.Time // when garbage was collected last, as far as is known
	relieved time.Time // when relief began last
	working  chan struct{}
}

// State is what monitoring shows.
type State struct {
	LimitBytes int64  `json:"limit"` // that the process may have
	GoalBytes  int64  `json:"goal"`  // that Go's heap and stacks may take of it
	Origin     Origin `json:"from"`
	UsedBytes  int64  `json:"used"` // of the goal, of what cannot be collected
	Step       Step   `json:"state"`
	// Since is when the step was taken.
	Since time.Time `json:"since"`
	// PaceBytes is how much a connection that publishes to streams may publish in a second; 0: as much as it wants.
	PaceBytes int64  `json:"pace,omitempty"`
	Scarce    int64  `json:"scarce"`  // how often publishers were slowed down, now included
	Refused   uint64 `json:"refused"` // connections
}

// New returns the keeper of a budget, which must be one.
func New(cfg Config) *Keeper {
	if cfg.Usage == nil {
		cfg.Usage = newMeter().usage
	}
	if cfg.Collect == nil {
		cfg.Collect = runtime.GC
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	k := &Keeper{cfg: cfg, working: make(chan struct{}, 1), since: cfg.Clock(), measured: cfg.Clock()}
	k.note()
	return k
}

// Run watches until ctx ends, and returns when a relief that is under way has ended. A nil keeper returns at once.
func (k *Keeper) Run(ctx context.Context) {
	if k == nil {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			k.working <- struct{}{}
			return
		}
		k.look()
		if k.Step() == Calm {
			timer.Reset(lookCalm)
		} else {
			timer.Reset(lookScarce)
		}
	}
}

// look measures, and takes the steps that follow.
func (k *Keeper) look() {
	now, usage, before := k.cfg.Clock(), k.cfg.Usage(), k.Step()
	step := next(before, usage.UsedBytes, k.cfg.Budget.GoalBytes)
	k.pace.Store(paceAfter(k.pace.Load(), before, step, k.last.UsedBytes, usage.UsedBytes))
	k.peak = max(k.peak, usage.UsedBytes)
	if usage.Collections != k.last.Collections {
		k.measured = now
	}
	k.last = usage
	if step != before {
		k.step.Store(int32(step))
		k.since = now
		k.tell(before, step, now)
		k.cfg.Changed(step)
	}
	k.note()
	k.relieve(before, step, now)
}

// next is the step after before.
func next(before Step, used, goal int64) Step {
	step := before
	for step < Stopped && used >= goal/100*enterPercent[step+1] {
		step++
	}
	for step > Calm && used < goal/100*leavePercent[step] {
		step--
	}
	return step
}

// relieve has somebody make room, and find out what that has brought, unless somebody is at it.
func (k *Keeper) relieve(before, step Step, now time.Time) {
	flush := step > before || step >= Slow && now.Sub(k.relieved) >= relieveEvery
	if !flush && (step < Slow || now.Sub(k.measured) < collectEvery) {
		return
	}
	select {
	case k.working <- struct{}{}:
	default:
		return
	}
	k.measured = now
	if flush {
		k.relieved = now
	}
	go func() {
		defer func() { <-k.working }()
		if flush {
			k.cfg.Relieve()
		}
		k.cfg.Collect()
	}()
}

// tell logs that memory has become scarce, or is so no longer.
func (k *Keeper) tell(before, step Step, now time.Time) {
	figures := []any{"used", k.last.UsedBytes, "goal", k.cfg.Budget.GoalBytes, "limit", k.cfg.Budget.Bytes}
	switch {
	case step == Stopped:
		k.begin(before, now)
		k.cfg.Logger.Error("memory is used up: publishers to streams all but wait, and new connections are refused", figures...)
	case step == Slow && before < Slow:
		k.begin(before, now)
		k.cfg.Logger.Warn("memory is scarce: publishers to streams are slowed down", figures...)
	case step == Slow:
		k.cfg.Logger.Warn("memory is scarce, but not used up any more: connections are accepted again", figures...)
	case before >= Slow:
		figures = append(figures, "peak", k.peak, "for", now.Sub(k.scarce).Round(time.Millisecond))
		k.cfg.Logger.Info("memory is no longer scarce", figures...)
		k.scarce = time.Time{}
	}
}

// begin notes that memory becomes scarce, if it was not.
func (k *Keeper) begin(before Step, now time.Time) {
	if before < Slow {
		k.scarce, k.peak = now, k.last.UsedBytes
		k.episodes++
	}
}

// note keeps what State returns.
func (k *Keeper) note() {
	b := &k.cfg.Budget
	k.seen.Store(&State{
		LimitBytes: b.Bytes, GoalBytes: b.GoalBytes, Origin: b.Origin,
		UsedBytes: k.last.UsedBytes, Step: k.Step(), Since: k.since.UTC(), PaceBytes: k.pace.Load(), Scarce: k.episodes,
	})
}

// Step is how scarce memory is. A nil keeper, of a server without a budget, is calm.
func (k *Keeper) Step() Step {
	if k == nil {
		return Calm
	}
	return Step(k.step.Load())
}

// State is how things are; nil without a budget.
func (k *Keeper) State() *State {
	if k == nil {
		return nil
	}
	s := *k.seen.Load()
	s.Refused = k.refused.Load()
	return &s
}

// Shares are those of the budget; without one they are not bounded.
func (k *Keeper) Shares() Shares {
	if k == nil {
		return Shares{}
	}
	return k.cfg.Budget.Shares()
}

// Refuse tells whether a new connection is to be refused, and counts it then.
func (k *Keeper) Refuse() bool {
	if k.Step() < Stopped {
		return false
	}
	k.refused.Add(1)
	return true
}
