package delays

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nuid"

	"runnel/jetlog/config"
	"runnel/server/accounts"
	"runnel/server/jetstream/api"
)

// Outlet stages messages of the server and writes them out with Flush. One goroutine uses it at a time.
type Outlet interface {
	Publish(a *accounts.Account, subject, reply string, header, payload []byte) int
	Flush()
	Close()
}

// The bounds of what waits for its way into the companion.
const (
	waitingMost      = 4096
	waitingBytesMost = 16 << 20
	// ensureTime is how long it may take to make a companion.
	ensureTime = 5 * time.Second
)

// KeeperConfig says what a keeper works on. All is required.
type KeeperConfig struct {
	Account *accounts.Account
	Target  func() *config.Stream // the configuration of the target
	Outlet  func() Outlet
	// Ensure makes a stream unless there is one of that name. The error is what the publishers are told.
	Ensure func(ctx context.Context, cfg config.Stream) error
	Logger *slog.Logger
	Clock  func() time.Time
}

// Keeper sends what is to be delayed for a target to its companion, on the server that leads the target. Its methods are safe for
// concurrent use. It has a goroutine while something is under way.
type Keeper struct {
	cfg    KeeperConfig
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex // guards everything below
	waiting []message
	bytes   int
	busy    bool
	closed  bool
}

// message is one on its way to the companion.
type message struct {
	subject, reply  string
	header, payload []byte
	at              time.Time
}

func (m *message) size() int { return len(m.subject) + len(m.reply) + len(m.header) + len(m.payload) }

// NewKeeper returns a keeper.
func NewKeeper(cfg KeeperConfig) *Keeper {
	k := &Keeper{cfg: cfg}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// Close ends the keeper. What is still under way gets no answer. It does nothing of nil.
func (k *Keeper) Close() {
	if k == nil {
		return
	}
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.cancel()
	k.work.Wait()
}

// Take takes a message over if its headers ask for a delay; the companion answers its publisher. If not, or if the time has come
// already, it returns the headers without those. Nothing of the message may change any more.
func (k *Keeper) Take(subject, reply string, header, payload []byte) (taken bool, rest []byte, refusal *api.Error) {
	at, rest, refusal := When(header, k.cfg.Clock())
	if refusal != nil || at.IsZero() {
		return false, rest, refusal
	}
	if !k.add(message{subject, reply, rest, payload, at}) {
		return false, nil, api.NewError(api.PutTooMany, Companion(k.cfg.Target().Name))
	}
	return true, nil, nil
}

// add puts a message behind others, if there is room.
func (k *Keeper) add(m message) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || len(k.waiting) >= waitingMost || k.bytes+m.size() > waitingBytesMost {
		return false
	}
	k.waiting, k.bytes = append(k.waiting, m), k.bytes+m.size()
	if !k.busy {
		k.busy = true
		k.work.Go(k.run)
	}
	return true
}

// take returns what waits. When there is nothing the goroutine ends.
func (k *Keeper) take() []message {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := k.waiting
	k.waiting, k.bytes = nil, 0
	k.busy = len(list) > 0
	return list
}

// run sends what waits until there is nothing more.
func (k *Keeper) run() {
	out := k.cfg.Outlet()
	defer out.Close()
	for list := k.take(); list != nil; list = k.take() {
		target := k.cfg.Target()
		err := k.ensure(target)
		for i := range list {
			k.send(out, target.Name, &list[i], err)
		}
		out.Flush()
	}
}

// ensure makes the companion.
func (k *Keeper) ensure(target *config.Stream) error {
	ctx, cancel := context.WithTimeout(k.ctx, ensureTime)
	defer cancel()
	err := k.cfg.Ensure(ctx, configOf(target))
	if err != nil && k.ctx.Err() == nil {
		k.cfg.Logger.Warn("a stream for what is published later cannot be made", "stream", Companion(target.Name), "error", err)
	}
	return err
}

// send sends a message to the companion, or tells its publisher why not.
func (k *Keeper) send(out Outlet, target string, m *message, failed error) {
	if failed == nil {
		subject, header := wrap(target, nuid.Next(), m.subject, m.header, m.at)
		if out.Publish(k.cfg.Account, subject, m.reply, header, m.payload) > 0 {
			return
		}
		failed = errors.New("nobody leads it")
	}
	if m.reply != "" {
		ack := api.PubAck{Stream: Companion(target), Error: api.NewError(api.DelayImpossible, failed.Error())}
		out.Publish(k.cfg.Account, m.reply, "", nil, api.AppendPubAck(nil, &ack))
	}
}
