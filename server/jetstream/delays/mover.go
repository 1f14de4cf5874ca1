package delays

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/handover"
)

const (
	// movedAtOnce and movedBytes bound what is moved at once.
	movedAtOnce = 256
	movedBytes  = 1 << 20
	// moveTime bounds one attempt.
	moveTime = 5 * time.Second
	// The pauses after an attempt that was in vain.
	pauseLeast = 50 * time.Millisecond
	pauseMost  = 5 * time.Second
)

// Log is a companion, on the server that leads it; *store.Stream is one.
type Log interface {
	ID() uint64
	Name() string
	Read(from uint64, filter jetlog.Filter, messages, bytes int, yield func(*jetlog.Message) bool) (next uint64, err error)
	Start(ctx context.Context, c command.Command, done func(jetlog.Result, error)) error
}

// MoverConfig says what a mover works on. All is required.
type MoverConfig struct {
	Log    Log
	Target string // the name of the stream for which the companion keeps messages
	Now    func() int64
	Put    func(ctx context.Context, stream string, list []handover.Message) ([]handover.Outcome, error)
	Logger *slog.Logger
}

// Mover puts what is due from a companion into its target, on the server that leads the companion. Its methods are safe for
// concurrent use. It has a goroutine while there is something to be moved.
type Mover struct {
	cfg    MoverConfig
	filter jetlog.Filter
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	told   string // why it does not go on, as it was last logged; used by who moves

	mu     sync.Mutex // guards everything below
	busy   bool
	more   bool
	closed bool
}

// NewMover returns a mover that looks for what is due already.
func NewMover(cfg MoverConfig) *Mover {
	m := &Mover{cfg: cfg, filter: jetlog.Filter{SubjectPrefix + cfg.Target + dueToken + ">"}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.Wake()
	return m
}

// Wake tells that there may be something to be moved. It is quick, and does nothing of nil.
func (m *Mover) Wake() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.more = true; !m.busy && !m.closed {
		m.busy = true
		m.work.Go(m.run)
	}
}

// Close ends the mover. What it has not moved stays in the companion. It does nothing of nil.
func (m *Mover) Close() {
	if m == nil {
		return
	}
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.work.Wait()
}

// next reports whether there is to be another look; if not the goroutine ends.
func (m *Mover) next() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = m.more && !m.closed
	m.more = false
	return m.busy
}

// run moves what there is, and tries again what could not be moved, with growing pauses.
func (m *Mover) run() {
	pause := time.Duration(0)
	for m.next() {
		moved, err := m.move()
		switch {
		case m.ctx.Err() != nil:
		case err != nil:
			pause = min(max(2*pause, pauseLeast), pauseMost)
			m.tell(err)
			m.rest(pause)
			m.again()
		case moved > 0:
			pause, m.told = 0, ""
			m.again()
		}
	}
}

// again has run look once more.
func (m *Mover) again() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.more = true
}

// tell logs why nothing is moved, once.
func (m *Mover) tell(err error) {
	if text := err.Error(); m.told != text {
		m.told = text
		m.cfg.Logger.Warn("messages that are due cannot be put into their stream; trying again",
			"stream", m.cfg.Target, "from", m.cfg.Log.Name(), "error", err)
	}
}

// rest waits.
func (m *Mover) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.ctx.Done():
	}
}

// move moves the next messages, and returns how many. Those behind one that is refused wait, so that what is due first comes first.
func (m *Mover) move() (moved int, err error) {
	var list []handover.Message
	var sequences []uint64
	_, err = m.cfg.Log.Read(1, m.filter, movedAtOnce, movedBytes, func(from *jetlog.Message) bool {
		subject, header := unwrap(m.cfg.Target, from.Subject, from.Header)
		list = append(list, handover.Message{
			Subject: subject, Header: header, Payload: from.Payload, Producer: fmt.Sprint("delayed.", m.cfg.Log.ID()), Number: from.Sequence,
		})
		sequences = append(sequences, from.Sequence)
		return true
	})
	if err != nil || len(list) == 0 {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(m.ctx, moveTime)
	defer cancel()
	outcomes, err := m.cfg.Put(ctx, m.cfg.Target, list)
	if err != nil {
		return 0, err
	}
	for moved < len(outcomes) && outcomes[moved].Refusal == nil {
		moved++
	}
	if moved < len(outcomes) && unwanted(outcomes[moved].Refusal) {
		moved++ // as whatever is published to that stream now
	}
	if err := m.remove(ctx, sequences[:moved]); err != nil {
		return 0, err
	}
	if moved == 0 {
		return 0, outcomes[0].Refusal
	}
	return moved, nil
}

// unwanted reports whether a message is refused because no consumer of an interest stream wants it: the stream would not keep it.
func unwanted(refusal *api.Error) bool {
	return refusal.ErrCode == int(config.StoreFailed) && refusal.Description == jetlog.Unwanted
}

// remove deletes messages from the companion. One that is there nevertheless is moved again, which the target knows.
func (m *Mover) remove(ctx context.Context, sequences []uint64) error {
	done := make(chan error, len(sequences))
	for _, seq := range sequences {
		err := m.cfg.Log.Start(ctx, &command.Delete{Time: m.cfg.Now(), Sequence: seq}, func(_ jetlog.Result, err error) { done <- err })
		if err != nil {
			return fmt.Errorf("remove message %d: %w", seq, err)
		}
	}
	for range sequences {
		select {
		case err := <-done:
			if err != nil {
				return fmt.Errorf("remove messages that were moved: %w", err)
			}
		case <-ctx.Done():
			return fmt.Errorf("remove messages that were moved: %w", ctx.Err())
		}
	}
	return nil
}
