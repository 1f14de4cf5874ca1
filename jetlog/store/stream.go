package store

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/jetlog/findings"
	"runnel/jetlog/messages"
	"runnel/jetlog/segment"
	"runnel/jetlog/siphash"
	"runnel/jetlog/wal"
)

// Stream is an open stream. Its methods may be called concurrently: reading goes on while commands are
// applied.
type Stream struct {
	store   *Store
	shard   *shard
	id      uint64
	account string
	name    string
	file    atomic.Bool             // the messages are in files, and commands go through the log or a group
	key     siphash.Key             // of the hashes of facts; Stream.mu guards it
	replica atomic.Pointer[replica] // nil for a stream without a group
	relaxed bool                    // results do not wait for a sync although the log does
	syncing syncing

	gate     sync.Mutex    // guards the next four, and the order in which commands enter the log
	encoded  []byte        // a buffer
	record   [1]wal.Record // what is appended, for the time of the call
	turning  bool          // the stream gets a group: commands are refused
	appended atomic.Uint64 // index of the last command in the log, or about to be

	group int // in the batch that the applier has, counted from 1; it belongs to the applier

	failure atomic.Pointer[error] // why nothing goes on
	harm    atomic.Pointer[error] // what is damaged in its files

	mu       sync.RWMutex // guards everything below
	state    *jetlog.Stream
	messages jetlog.Messages // body, or a jetlog.Memory
	body     *messages.Body  // nil without files
	frozen   *frozen         // of a flush that goes on, or did not succeed
	position wal.Position    // of the last command that was applied
	flushed  uint64          // commands in the state that the manifest has
	released wal.Position    // what the log may forget
	// stranded are commands of a halted stream that are in the log and were not applied: a restart will
	// try again. strandedAt is the position of the first.
	stranded   []wal.Record
	strandedAt wal.Position
}

// ID returns the unique id, which no other stream ever has.
func (t *Stream) ID() uint64 { return t.id }

// Account returns the account that the stream belongs to.
func (t *Stream) Account() string { return t.account }

// Name returns the name within the account.
func (t *Stream) Name() string { return t.name }

// log returns the log that commands go through, nil for a stream in memory.
func (t *Stream) log() *wal.Log {
	if !t.file.Load() {
		return nil
	}
	return t.store.log
}

// usable says why the stream takes no command.
func (t *Stream) usable() error {
	if f := t.failure.Load(); f != nil {
		return *f
	}
	return t.store.usable()
}

// halt stops the stream and returns the error that every command gets from now on.
func (t *Stream) halt(cause error) error {
	err := fmt.Errorf("%w: %w", ErrHalted, cause)
	if t.failure.CompareAndSwap(nil, &err) {
		t.store.cfg.Logger.Error("stream is halted", "stream", t.name, "account", t.account, "error", cause)
		return err
	}
	return *t.failure.Load()
}

// Err is nil, or says why the stream stands still: ErrHalted with a *StreamDamage, in most cases.
func (t *Stream) Err() error {
	if f := t.failure.Load(); f != nil {
		return *f
	}
	return nil
}

// Harm is nil, or the damage that was met in the files of the stream, by reading or by scrubbing: it goes on, and what is damaged cannot
// be read.
func (t *Stream) Harm() error {
	if h := t.harm.Load(); h != nil {
		return *h
	}
	return nil
}

// harmed notes an error of reading, which is damage if the disk has not what was written there.
func (t *Stream) harmed(err error) {
	var c *segment.Corruption
	if errors.As(err, &c) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EIO) {
		t.harm.CompareAndSwap(nil, &err)
	}
	t.store.damaged(err)
}

// State returns sequences, times and sizes.
func (t *Stream) State() (state jetlog.State) {
	// View fails only for a stream that did not start, which has no state.
	_ = t.View(func(stream *jetlog.Stream, _ jetlog.Messages) error {
		state = stream.State()
		return nil
	})
	return state
}

// Near tells whether what there is from a sequence on can be read without a file, and so without waiting for a disk.
func (t *Stream) Near(seq uint64) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.body == nil || seq >= t.body.Start
}

// PeekState is State, but only if that is known at once: it never waits.
func (t *Stream) PeekState() (state jetlog.State, known bool) {
	if !t.mu.TryRLock() {
		return state, false
	}
	defer t.mu.RUnlock()
	if t.state == nil {
		return state, false
	}
	return t.state.State(), true
}

// Config returns the configuration. What its pointers refer to must not be changed.
func (t *Stream) Config() (cfg config.Stream) {
	_ = t.View(func(stream *jetlog.Stream, _ jetlog.Messages) error {
		cfg = *stream.Config()
		return nil
	})
	return cfg
}

// Meta returns what is known of a message, with sequence 0 if there is none.
func (t *Stream) Meta(seq uint64) (m jetlog.Meta, err error) {
	err = t.read(func(messages jetlog.Messages) error {
		m, err = messages.Meta(seq)
		return err
	})
	return m, err
}

// NextOf returns the first sequence >= seq that the filter matches, 0 for none.
func (t *Stream) NextOf(filter jetlog.Filter, seq uint64) (next uint64, err error) {
	err = t.read(func(messages jetlog.Messages) error {
		next, err = messages.NextOf(filter, seq)
		return err
	})
	return next, err
}

// LastOf returns the last sequence <= upTo that the filter matches, 0 for none.
func (t *Stream) LastOf(filter jetlog.Filter, upTo uint64) (last uint64, err error) {
	err = t.read(func(messages jetlog.Messages) error {
		last, err = messages.LastOf(filter, upTo)
		return err
	})
	return last, err
}

// Subject returns the state of exactly this subject.
func (t *Stream) Subject(subject string) (state jetlog.SubjectState, err error) {
	err = t.read(func(messages jetlog.Messages) error {
		state, err = messages.Subject(subject)
		return err
	})
	return state, err
}

// FirstAfter returns the first sequence with a time >= time, 0 for none.
func (t *Stream) FirstAfter(time int64) (seq uint64, err error) {
	err = t.read(func(messages jetlog.Messages) error {
		seq, err = messages.FirstAfter(time)
		return err
	})
	return seq, err
}

// read is View for one question. What is damaged is reported, with the place, as a *StreamDamage.
func (t *Stream) read(do func(jetlog.Messages) error) error {
	return t.blame(t.View(func(_ *jetlog.Stream, m jetlog.Messages) error { return do(m) }))
}

// blame says of an error where the damage is, if it is one, and notes it.
func (t *Stream) blame(err error) error {
	if err == nil || errors.Is(err, ErrClosed) || errors.Is(err, ErrNotFound) {
		return err
	}
	var known *StreamDamage
	if !errors.As(err, &known) {
		err = findings.Of(t.id, t.name, err)
	}
	if !errors.Is(err, ErrHalted) {
		t.harmed(err)
	}
	return err
}

// Check verifies the whole stream: reads every message and compares everything that is counted. It
// stops the stream's commands meanwhile.
func (t *Stream) Check() error {
	return t.still(func(stream *jetlog.Stream, m jetlog.Messages) error { return stream.Check(m) })
}
