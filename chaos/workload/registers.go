package workload

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// registersLoad is W5. A register is a subject, its revision the sequence of its last message.
//
// Every registerLife there are new registers, and the old ones are used more and more rarely. Otherwise a run of an hour would have so many
// operations on each that nobody could say whether they are linearizable.
type registersLoad struct{ *load }

const (
	registerLife = 30 * time.Second
)

func openRegisters(l *load) part { return &registersLoad{l} }

func (w *registersLoad) setup(ctx context.Context) error {
	return w.create(ctx, w.stream(RegistersStream, "w5.>"))
}

// run has each process remember the revisions that it has seen, as clients with a cache do: many of its changes are then refused.
func (w *registersLoad) run(ctx context.Context) error {
	return w.work(ctx, w.cfg.Processes, func(ctx context.Context, c *client) {
		r := &registers{client: c, known: make(map[string]uint64)}
		for r.next(ctx) {
			r.act(ctx)
		}
	})
}

func (w *registersLoad) finish(ctx context.Context) error {
	return w.finals(ctx, RegistersStream, subjectKey, true)
}

// registers is a client with what it knows of them.
type registers struct {
	*client
	known map[string]uint64 // revisions; those of old registers are forgotten
	life  time.Duration     // the life of the newest of them
}

// choose chooses a register: of this life, or, each time with half the chance, of the one before.
func (r *registers) choose() string {
	life := r.load.now() / registerLife
	if life != r.life {
		r.life = life
		clear(r.known)
	}
	for life > 0 && r.client.one(2) {
		life--
	}
	return fmt.Sprintf("w5.%d.%d", life, r.chance.IntN(r.load.cfg.Keys))
}

// act does one operation: in half of the cases a change, and else a read at the leader or wherever.
func (r *registers) act(ctx context.Context) {
	key := r.choose()
	switch r.chance.IntN(4) {
	case 0:
		r.read(ctx, history.Get, key, r.atLeader)
	case 1:
		r.read(ctx, history.StaleGet, key, r.anywhere)
	default:
		r.swap(ctx, key)
	}
}

// swap changes a register if its revision is the one that is known. One that is not known is read first.
func (r *registers) swap(ctx context.Context, key string) {
	revision, known := r.known[key]
	if !known {
		if err := r.read(ctx, history.Get, key, r.atLeader); err != nil {
			return
		}
		revision = r.known[key]
	}
	o := history.Operation{Kind: history.Swap, Stream: RegistersStream, Key: key, Value: r.value(), Expected: revision}
	header := nats.Header{jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(revision, 10)}}
	ack, err := r.publish(ctx, o, key, header)
	if err != nil {
		delete(r.known, key)
		return
	}
	r.known[key] = ack.Sequence
}

// read is an operation that gets a register.
func (r *registers) read(ctx context.Context, kind, key string, get func(context.Context, string) (uint64, []byte, error)) error {
	o := history.Operation{Kind: kind, Stream: RegistersStream, Key: key}
	return r.look(ctx, o, func(ctx context.Context, o *history.Operation) error {
		sequence, data, err := get(ctx, key)
		if err != nil && !errors.Is(err, errNone) {
			return err
		}
		if kind == history.Get {
			r.known[key] = sequence
		}
		if sequence > 0 {
			o.Sequence, o.Value = sequence, parseBody(data)
		}
		return nil
	})
}

// atLeader asks the leader.
func (r *registers) atLeader(ctx context.Context, key string) (uint64, []byte, error) {
	m, err := r.get(ctx, RegistersStream, map[string]any{"last_by_subj": key})
	if err != nil {
		return 0, nil, err
	}
	return m.Sequence, m.Data, nil
}

// anywhere asks whichever replica answers: that of the client's server if it has one.
func (r *registers) anywhere(ctx context.Context, key string) (uint64, []byte, error) {
	m, err := r.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+RegistersStream+"."+key, nil)
	if err != nil {
		return 0, nil, err
	}
	switch status := m.Header.Get("Status"); status {
	case "":
	case "404":
		return 0, nil, errNone
	default:
		return 0, nil, fmt.Errorf("a direct get was answered with %s %s", status, m.Header.Get("Description"))
	}
	sequence, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	return sequence, m.Data, err
}
