package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/bench/verify"
)

// objects is how many objects there are to get.
const objects = 8

// storeScenarios use key-value and object stores.
func storeScenarios() []Scenario {
	return []Scenario{
		{
			Name: "kvput", Explanation: "N clients on one connection put values, each waits for its own: 1,000 keys in turn.",
			Variants: []Params{{SizeBytes: 128, Subjects: 1000, Inflight: 16, Duration: opTime}},
			load:     1, fan: noDelivery, label: byInflight, run: runPut, alone: true,
		},
		{
			Name: "kvget", Explanation: "N clients on one connection get values, each waits for its own: 1,000 keys in turn.",
			Variants: []Params{{SizeBytes: 128, Subjects: 1000, Inflight: 16, Duration: opTime}},
			load:     1, fan: noDelivery, label: byInflight, run: runGet, alone: true,
		},
		{
			Name: "kvwatch", Explanation: "One client puts values one after the other, N clients watch all keys: how long a change takes to be seen.",
			Variants: []Params{{SizeBytes: 128, Publishers: 1, Subscribers: 10, Subjects: 1000, Duration: opTime}},
			load:     1, fan: toSubscribers, label: bySubscribers, run: runWatch, alone: true,
		},
		{
			Name: "objput", Explanation: "Puts objects one after the other; a message is an object.",
			Variants: []Params{{SizeBytes: 8 << 20, Inflight: 1, Messages: 32}},
			load:     1, fan: noDelivery, label: bySize, run: runPutObject, alone: true, chunked: true,
		},
		{
			Name: "objget", Explanation: "Gets objects one after the other; a message is an object.",
			Variants: []Params{{SizeBytes: 8 << 20, Inflight: 1, Messages: 64}},
			load:     1, fan: noDelivery, label: bySize, run: runGetObject, alone: true, chunked: true,
		},
	}
}

// withBucket runs work on a new key-value bucket.
func withBucket(ctx context.Context, s *session, work func(context.Context, *stored, jetstream.KeyValue) error) error {
	bucket := s.bucketToken()
	st, err := s.openStored(ctx, "KV_"+bucket)
	if err != nil {
		return err
	}
	kv, err := st.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: bucket, Storage: s.storage(), Replicas: max(1, s.params.Replicas),
	})
	if err != nil {
		return fmt.Errorf("create bucket %s: %w", bucket, err)
	}
	return st.finish(work(ctx, st, kv))
}

// key is key number n.
func key(n uint64) string { return "key." + strconv.FormatUint(n, 10) }

// putter puts values in turn, and notes their revisions.
func (st *stored) putter(kv jetstream.KeyValue, workers int) *operations {
	payloads := make([]*verify.Payload, workers)
	for i := range payloads {
		payloads[i] = verify.NewPayload(st.params.SizeBytes, 0)
	}
	keys := uint64(st.params.Subjects)
	return &operations{session: st.session, workers: workers, do: func(ctx context.Context, worker int, n uint64, due time.Time) error {
		begun := time.Now()
		revision, err := kv.Put(ctx, key(n%keys), payloads[worker].Stamped(n, st.clock.ticks(due)))
		if err != nil {
			return fmt.Errorf("put: %w", err)
		}
		st.acks.note(st.name, revision, false, time.Since(begun))
		return nil
	}}
}

// runPut puts values.
func runPut(ctx context.Context, s *session) error {
	return withBucket(ctx, s, func(ctx context.Context, st *stored, kv jetstream.KeyValue) error {
		o := st.putter(kv, s.params.Inflight)
		if err := o.run(ctx); err != nil {
			return err
		}
		done := o.next.Load()
		return st.holds(ctx, done, min(int64(done), int64(s.params.Subjects)))
	})
}

// errValue is why a value or object that was read is refused.
var errValue = errors.New("it is not what was put")

// runGet puts a value for each key, and then gets them.
func runGet(ctx context.Context, s *session) error {
	return withBucket(ctx, s, func(ctx context.Context, st *stored, kv jetstream.KeyValue) error {
		keys := uint64(s.params.Subjects)
		fill := st.putter(kv, s.params.Inflight)
		fill.untimed = true
		if err := fill.phase(ctx, int64(keys), time.Time{}); err != nil {
			return err
		}
		st.acks.settle(&s.measure, s.target.Verify, keys, nil)
		st.acks = newAcknowledged(st.name)
		before := s.published.Load()
		o := &operations{session: s, workers: s.params.Inflight, do: func(ctx context.Context, _ int, n uint64, _ time.Time) error {
			entry, err := kv.Get(ctx, key(n%keys))
			if err != nil {
				return fmt.Errorf("get %s: %w", key(n%keys), err)
			}
			if stamp, ok := verify.ReadStamp(entry.Value()); s.target.Verify && (!ok || stamp.Sequence != n%keys) {
				return fmt.Errorf("get %s: %w", key(n%keys), errValue)
			}
			return nil
		}}
		err := o.run(ctx)
		s.measure.tally.Delivered += s.published.Load() - before
		return err
	})
}

// watchLag is what part of the keys a watcher may be behind: a value that was put again before it
// was delivered would be missing.
const watchLag = 4

// watcher is a client that watches all keys.
type watcher struct {
	*listener
	updates jetstream.KeyWatcher
	ended   chan struct{} // closed when nothing more is handled
}

// watchKeys begins to watch a bucket on a connection of its own.
func (st *stored) watchKeys(ctx context.Context, bucket string, index int) (*watcher, error) {
	nc, err := st.connect(ctx)
	if err != nil {
		return nil, err
	}
	js, err := st.jetStream(nc)
	if err != nil {
		return nil, err
	}
	kv, err := js.KeyValue(ctx, bucket)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", bucket, err)
	}
	w := &watcher{ended: make(chan struct{})}
	w.listener = newListener(st.session, listenerPlan{conn: index, pattern: ">", lanes: all(1)})
	w.timed = st.params.SizeBytes >= verify.StampBytes
	if w.updates, err = kv.WatchAll(ctx); err != nil {
		return nil, fmt.Errorf("watch bucket %s: %w", bucket, err)
	}
	go w.run(uint64(st.params.Subjects))
	return w, nil
}

// run handles updates until the watcher is stopped.
func (w *watcher) run(keys uint64) {
	defer close(w.ended)
	for entry := range w.updates.Updates() {
		if entry == nil {
			continue // the values that were there at the beginning are through
		}
		value := entry.Value()
		if len(value) >= verify.StampBytes {
			w.literal = key(verify.DecodeStamp(value).Sequence % keys) // where this value was put
		}
		w.read(entry.Key(), value)
	}
}

// runWatch puts values one after the other while others watch.
func runWatch(ctx context.Context, s *session) error {
	return withBucket(ctx, s, func(ctx context.Context, st *stored, kv jetstream.KeyValue) error {
		var watchers []*watcher
		for i := range s.params.Subscribers {
			w, err := st.watchKeys(ctx, kv.Bucket(), i)
			if err != nil {
				return errors.Join(err, stopAll(watchers))
			}
			watchers = append(watchers, w)
		}
		o := st.watched(kv, watchers)
		err := errors.Join(o.run(ctx), stopAll(watchers))
		sent := map[uint32]uint64{0: o.next.Load()}
		if interrupted(err) {
			sent = nil
		}
		for _, w := range watchers {
			s.measure.settle(sent, []*listener{w.listener})
		}
		return err
	})
}

// watched puts values, but does not run further ahead of the watchers than they can bear.
func (st *stored) watched(kv jetstream.KeyValue, watchers []*watcher) *operations {
	room := window{session: st.session, limit: max(1, int64(st.params.Subjects)/watchLag)}
	o := st.putter(kv, 1)
	put := o.do
	o.untimed = true
	o.do = func(ctx context.Context, worker int, n uint64, due time.Time) error {
		if err := room.reserve(ctx, 1); err != nil {
			return err
		}
		if st.params.Rate == 0 {
			due = time.Now() // waiting for the watchers is none of the latency
		}
		return put(ctx, worker, n, due)
	}
	o.began = func() {
		for _, w := range watchers {
			w.restart()
		}
	}
	return o
}

// stopAll ends watchers, and returns when they have handled what came.
func stopAll(watchers []*watcher) error {
	var errs []error
	for _, w := range watchers {
		errs = append(errs, w.updates.Stop())
		<-w.ended
	}
	return errors.Join(errs...)
}

// withObjects runs work on a new object store.
func withObjects(ctx context.Context, s *session, work func(context.Context, jetstream.ObjectStore) error) error {
	bucket := s.bucketToken()
	st, err := s.openStored(ctx, "OBJ_"+bucket)
	if err != nil {
		return err
	}
	store, err := st.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: bucket, Storage: s.storage(), Replicas: max(1, s.params.Replicas),
	})
	if err != nil {
		return fmt.Errorf("create object store %s: %w", bucket, err)
	}
	return st.finish(work(ctx, store))
}

// object is object number n, of which there are few.
func object(n uint64) string { return "object-" + strconv.FormatUint(n%objects, 10) }

// putObject puts an object whose content is a payload.
func putObject(ctx context.Context, s *session, store jetstream.ObjectStore, n uint64, p *verify.Payload) error {
	data := p.Stamped(n, 0)
	info, err := store.PutBytes(ctx, object(n), data)
	if err != nil {
		return fmt.Errorf("put %s: %w", object(n), err)
	}
	if s.target.Verify && info.Size != uint64(len(data)) {
		return fmt.Errorf("put %s: it has %d bytes of %d: %w", object(n), info.Size, len(data), errValue)
	}
	return nil
}

// runPutObject puts objects.
func runPutObject(ctx context.Context, s *session) error {
	return withObjects(ctx, s, func(ctx context.Context, store jetstream.ObjectStore) error {
		payloads := make([]*verify.Payload, s.params.Inflight)
		for i := range payloads {
			payloads[i] = verify.NewPayload(s.params.SizeBytes, 0)
		}
		o := &operations{session: s, workers: len(payloads), do: func(ctx context.Context, worker int, n uint64, _ time.Time) error {
			return putObject(ctx, s, store, n, payloads[worker])
		}}
		err := o.run(ctx)
		s.measure.tally.Delivered += s.published.Load()
		return err
	})
}

// runGetObject puts some objects, and then gets them.
func runGetObject(ctx context.Context, s *session) error {
	return withObjects(ctx, s, func(ctx context.Context, store jetstream.ObjectStore) error {
		payload := verify.NewPayload(s.params.SizeBytes, 0)
		for n := range uint64(objects) {
			if err := putObject(ctx, s, store, n, payload); err != nil {
				return err
			}
			s.opened.Add(1)
		}
		o := &operations{session: s, workers: s.params.Inflight, do: func(ctx context.Context, _ int, n uint64, _ time.Time) error {
			data, err := store.GetBytes(ctx, object(n))
			if err != nil {
				return fmt.Errorf("get %s: %w", object(n), err)
			}
			stamp, ok := verify.ReadStamp(data)
			if s.target.Verify && (!ok || stamp.Sequence != n%objects || !bytes.Equal(data[verify.StampBytes:], payload.Data()[verify.StampBytes:])) {
				return fmt.Errorf("get %s: %w", object(n), errValue)
			}
			return nil
		}}
		err := o.run(ctx)
		s.measure.tally.Delivered += s.published.Load()
		return err
	})
}
