package memory

import (
	"cmp"
	"errors"
	"math"
	"runtime/debug"
)

// Budget is how much memory the process may have. The zero value is no budget.
type Budget struct {
	Bytes int64 // that may be resident; 0: no budget
	// GoalBytes is what Go's heap, its stacks and all that belongs to them may take of it.
	GoalBytes int64
	Origin    Origin
}

// Origin is who has said how much there is.
type Origin string

// Origins.
const (
	Configured  Origin = "memory_limit"
	OfContainer Origin = "cgroup"
	OfGo        Origin = "GOMEMLIMIT"
)

// Limit is what somebody has written down: bytes, or a percentage of what the container allows, or without one of what the machine
// has. The zero value says nothing.
type Limit struct {
	Bytes   int64
	Percent int
}

// LeastBytes is the smallest budget: below it a server spends its time with making room.
const LeastBytes = 64 << 20

// What of a budget is not Go's to fill: the program itself, of which about 20 MiB are resident, threads, and the delay of collecting.
// It is a tenth, within bounds.
const (
	asideLeast = 32 << 20
	asideMost  = 512 << 20
)

// ErrUnknown says that a percentage is of what nobody knows.
var ErrUnknown = errors.New("memory_limit is a percentage, but how much memory there is cannot be found out here: write bytes")

// ErrSmall says that a budget is below LeastBytes.
var ErrSmall = errors.New("memory_limit is less than 64 MiB, with which the server cannot work")

// Written is the budget that a limit says; none if it says nothing.
func (l Limit) Written(read ReadFile) (Budget, error) {
	bytes := l.Bytes
	if l.Percent > 0 {
		whole := cmp.Or(Container(read), Machine(read))
		if whole == 0 {
			return Budget{}, ErrUnknown
		}
		bytes = whole / 100 * int64(l.Percent)
	}
	switch {
	case bytes <= 0:
		return Budget{}, nil
	case bytes < LeastBytes:
		return Budget{}, ErrSmall
	}
	return of(bytes, Configured), nil
}

// Given is the budget of a process about which nothing is written down: what the container allows, or else GOMEMLIMIT. Without
// either there is none: on a machine that many share nobody but its owner knows which part of it is for the server. A container
// that allows less than LeastBytes gets that: it is too small, but a server that does little may live in it.
func Given(read ReadFile) Budget {
	if bytes := Container(read); bytes > 0 {
		return of(max(bytes, LeastBytes), OfContainer)
	}
	if goal := debug.SetMemoryLimit(-1); goal != math.MaxInt64 {
		return Budget{Bytes: goal + aside(goal), GoalBytes: goal, Origin: OfGo}
	}
	return Budget{}
}

// of is the budget with so many bytes.
func of(bytes int64, origin Origin) Budget {
	return Budget{Bytes: bytes, GoalBytes: bytes - aside(bytes), Origin: origin}
}

func aside(bytes int64) int64 { return min(max(bytes/10, asideLeast), asideMost) }

// Apply has Go collect its garbage so that the goal is kept, unless GOMEMLIMIT has told it something below the budget: that is the
// goal then. More than the budget would have the process killed before anything is collected. It returns the budget as it is in force.
// It concerns the whole process.
func (b Budget) Apply() Budget {
	if b.Bytes == 0 {
		return b
	}
	if told := debug.SetMemoryLimit(-1); told < b.Bytes {
		b.GoalBytes = told
		return b
	}
	debug.SetMemoryLimit(b.GoalBytes)
	return b
}

// Shares are the parts of a budget that what grows with the load may take, in bytes; 0: as much as it wants.
type Shares struct {
	FlushBytes  int64 // memory tables of the store, from which on they are flushed
	TablesBytes int64 // memory tables, from which on publishes wait
	CacheBytes  int64 // what was read from files
	IngestBytes int64 // what was published to all streams and is not stored yet
	// StreamsBytes is the part for streams in memory where their limit is not written down.
	StreamsBytes int64
	WaitingBytes int // for a connection when nothing else helps
}

// Shares divides the budget. Together they leave enough for connections and consumers, and for what collecting needs.
func (b Budget) Shares() Shares {
	if b.Bytes == 0 {
		return Shares{}
	}
	flush := min(b.GoalBytes/16, 64<<20)
	return Shares{
		FlushBytes: flush, TablesBytes: 2 * flush,
		CacheBytes:   min(b.GoalBytes/32, 64<<20),
		IngestBytes:  b.GoalBytes / 8,
		StreamsBytes: b.GoalBytes / 2,
		WaitingBytes: int(max(b.GoalBytes/64, 2<<20)),
	}
}
