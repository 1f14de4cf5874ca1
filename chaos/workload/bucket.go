package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// bucketLoad is W6. One watcher at each server is there from the beginning to the end, another one comes and goes.
type bucketLoad struct {
	*load
	watchers *crew
	end      context.CancelFunc // tells watchers that nothing is put any more, and that the replicas agree

	mu   sync.Mutex // guards what follows
	last uint64     // the bucket's last revision, once that is known
}

const (
	bucketName      = "W6"
	bucketSubject   = "$KV." + bucketName + "."
	bucketHistory   = 5
	bucketOperation = "KV-Operation" // the header of a deletion
)

func openBucket(l *load) part { return &bucketLoad{load: l} }

// setup makes the bucket by the library, so that it is configured as any other bucket.
func (w *bucketLoad) setup(ctx context.Context) error {
	return w.anywhere(ctx, func(c *client) error {
		return c.try(ctx, "create bucket "+bucketName, func(ctx context.Context) error {
			_, err := c.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucketName, History: bucketHistory, Replicas: w.cfg.Replicas})
			return err
		})
	})
}

// run starts the watchers, which stay until what they know can be compared with what is stored.
func (w *bucketLoad) run(ctx context.Context) (err error) {
	ending, end := context.WithCancel(context.Background())
	w.end = end
	w.watchers, err = w.start(context.Background(), 2*len(w.cfg.Nodes), !rated, func(ctx context.Context, c *client) {
		restless := c.process%(2*len(w.cfg.Nodes)) >= len(w.cfg.Nodes)
		v := &watcher{client: c, load: w, restless: restless}
		v.run(ctx, ending)
	})
	if err != nil {
		return err
	}
	return w.work(ctx, w.cfg.Processes, func(ctx context.Context, c *client) {
		for c.next(ctx) {
			w.put(ctx, c)
		}
	})
}

// put puts a value, or deletes a key, once in five times. It is what the library's Put and Delete do, but for trying again.
func (w *bucketLoad) put(ctx context.Context, c *client) {
	o := history.Operation{Kind: history.Put, Stream: BucketStream, Key: fmt.Sprintf("k%d", c.chance.IntN(w.cfg.Keys))}
	m := &nats.Msg{Subject: bucketSubject + o.Key, Header: nats.Header{}}
	if c.one(5) {
		m.Header.Set(bucketOperation, "DEL")
	} else {
		o.Value = c.value()
		m.Data = body(o.Value, w.cfg.PayloadBytes)
	}
	_ = c.do(ctx, o, func(ctx context.Context, o *history.Operation) error {
		ack, err := c.send(ctx, m)
		if err == nil {
			o.Sequence = ack.Sequence
		}
		return err
	})
}

// finish lets the watchers come to the last revision. Where the replicas do not settle nobody knows that one, and no watcher says that it
// was there to the end.
func (w *bucketLoad) finish(ctx context.Context) (err error) {
	if w.watchers != nil {
		var r rest
		r, err = w.settle(ctx, BucketStream)
		if err != nil {
			return errors.Join(err, w.finals(ctx, BucketStream, bucketKey, true))
		}
		w.mu.Lock()
		w.last = r.last
		w.mu.Unlock()
		w.end()
		err = w.farewell(ctx, w.watchers, "watch "+bucketName+" to its end")
	}
	return errors.Join(err, w.finals(ctx, BucketStream, bucketKey, true))
}

// bucketKey is the key of a bucket's subject.
func bucketKey(subject string) string { return strings.TrimPrefix(subject, bucketSubject) }

// until is the revision at which watchers end.
func (w *bucketLoad) until() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// watcher watches all keys with the library's watcher. When that comes to nothing it begins a new one.
type watcher struct {
	*client
	load     *bucketLoad
	restless bool // it leaves now and then, and comes again

	last uint64 // the highest of them
}

// run watches until it is done or ctx ends, however often it has to begin again.
func (v *watcher) run(ctx, ending context.Context) {
	for v.connected(ctx) {
		v.follow(ctx, ending)
		if v.done(ending) {
			v.client.end(v.begin(history.Operation{Kind: history.WatchEnd, Stream: BucketStream}), nil)
			return
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// done tells whether all is over, and the watcher was told of the last revision.
func (v *watcher) done(ending context.Context) bool {
	return ending.Err() != nil && v.last >= v.load.until()
}

// follow watches until it is done, until the restless one leaves, or until nothing comes although there is more.
func (v *watcher) follow(ctx, ending context.Context) {
	limited, cancel := v.limit(ctx)
	defer cancel()
	bucket, err := v.js.KeyValue(limited, bucketName)
	if err != nil {
		return
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	start := v.begin(history.Operation{Kind: history.WatchStart, Stream: BucketStream})
	late := time.AfterFunc(v.client.load.cfg.CallTimeout, stop) // the library sets no limit of its own
	w, err := bucket.WatchAll(watching)
	if !late.Stop() || err != nil {
		v.progress.end(v.client.load.now(), false)
		return
	}
	defer func() { _ = w.Stop() }() // it only fails with its connection
	v.client.end(start, nil)
	leave := time.NewTimer(v.stay())
	defer leave.Stop()
	look := time.NewTicker(500 * time.Millisecond)
	defer look.Stop()
	at := v.client.load.now() // when it last got on
	for {
		select {
		case <-ctx.Done():
			return
		case <-leave.C:
			if ending.Err() == nil {
				return
			}
		case e, open := <-w.Updates():
			if !open {
				return
			}
			if at = v.client.load.now(); e != nil { // nil says that this is all that there was
				v.take(e)
			}
		case <-look.C:
			if v.done(ending) || !v.getsOn(ctx, &at) {
				return
			}
		}
	}
}

// stay is how long a watcher stays: for ever, or some seconds.
func (v *watcher) stay() time.Duration {
	if v.restless {
		return time.Duration(1+v.chance.IntN(10)) * time.Second
	}
	return time.Duration(1<<62 - 1)
}

// take records an update.
func (v *watcher) take(e jetstream.KeyValueEntry) {
	o := v.begin(history.Operation{Kind: history.Watch, Stream: BucketStream, Key: e.Key(), Sequence: e.Revision()})
	if e.Operation() == jetstream.KeyValuePut {
		o.Value = parseBody(e.Value())
	}
	v.last = max(v.last, e.Revision())
	v.client.end(o, nil)
}

// getsOn tells whether the watcher is worth waiting for: it was told something lately, or there is nothing to tell, or it has not had
// the patience of the load yet.
func (v *watcher) getsOn(ctx context.Context, at *time.Duration) bool {
	now := v.client.load.now()
	if now-*at < time.Second {
		return true
	}
	limited, cancel := v.limit(ctx)
	defer cancel()
	if s, err := v.js.Stream(limited, BucketStream); err == nil && s.CachedInfo().State.LastSeq <= v.last {
		v.progress.idle(now)
		*at = now
		return true
	}
	return now-*at < v.client.load.cfg.Patience
}
