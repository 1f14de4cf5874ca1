package group_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"runnel/cluster/group"
	"runnel/jetlog/entries"
)

// quickLog is a log whose syncs take no time, for benchmarks. It keeps the last entries only.
type quickLog struct {
	mu      sync.Mutex
	entries []group.Entry
	values  map[string][]byte
}

func (l *quickLog) First() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) == 0 {
		return 0
	}
	return l.entries[0].Index
}

func (l *quickLog) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) == 0 {
		return 0
	}
	return l.entries[len(l.entries)-1].Index
}

func (l *quickLog) Durable() uint64 { return l.Last() }

func (l *quickLog) Get(index uint64) (group.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) == 0 || index < l.entries[0].Index || index-l.entries[0].Index >= uint64(len(l.entries)) {
		return group.Entry{}, entries.ErrNotFound
	}
	return l.entries[index-l.entries[0].Index], nil
}

func (l *quickLog) Append(_ context.Context, list []group.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) > 256 {
		l.entries = append([]group.Entry(nil), l.entries[128:]...)
	}
	l.entries = append(l.entries, list...)
	return nil
}

func (l *quickLog) WaitDurable(context.Context, uint64) error { return nil }
func (l *quickLog) Delete(uint64, uint64) error               { return errors.New("not needed") }

func (l *quickLog) Set(key string, value []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.values[key] = value
	return nil
}

func (l *quickLog) Value(key string) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.values[key]
}

// counter is a machine that only counts.
type counter struct {
	place            group.Place
	applied          atomic.Uint64
	records, entries atomic.Uint64
}

func (m *counter) Apply(index, _ uint64, _ []byte, local []group.Proposal) error {
	m.applied.Store(index)
	m.entries.Add(1)
	m.records.Add(uint64(len(local)))
	for _, p := range local {
		<-p.(ticket).window
	}
	return nil
}

func (m *counter) Configuration(index, _ uint64, _ []byte) { m.applied.Store(index) }
func (m *counter) Applied() uint64                         { return m.applied.Load() }
func (m *counter) Place() group.Place                      { return m.place }

func (m *counter) Checkpoint() (*group.Checkpoint, error) { return nil, errors.New("not needed") }

func (m *counter) Install(context.Context, string, group.Place, []byte) error {
	return errors.New("not needed")
}

// ticket is a proposal of 128 bytes that gives its place in a window back.
type ticket struct{ window chan struct{} }

func (t ticket) Bytes() int               { return 128 }
func (t ticket) Append(dst []byte) []byte { return append(dst, make([]byte, 128)...) }
func (t ticket) Fail(error)               { <-t.window }
