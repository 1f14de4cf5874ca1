package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/server/servertest"
)

// client is what applications use.
func (s *site) client() (context.Context, jetstream.JetStream) {
	s.t.Helper()
	js, err := jetstream.New(s.conn)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*servertest.Patience)
	s.t.Cleanup(cancel)
	return ctx, js
}

// eachClientStorage runs a test with both kinds of storage.
func eachClientStorage(t *testing.T, test func(t *testing.T, storage jetstream.StorageType)) {
	for _, storage := range []jetstream.StorageType{jetstream.FileStorage, jetstream.MemoryStorage} {
		t.Run(storage.String(), func(t *testing.T) {
			t.Parallel()
			test(t, storage)
		})
	}
}

// no ends the test at an error.
func no(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// errorCode is the code of an error that the server answered, 0 for others.
func errorCode(err error) int {
	var a *jetstream.APIError
	if errors.As(err, &a) {
		return int(a.ErrorCode)
	}
	var j jetstream.JetStreamError
	if errors.As(err, &j) && j.APIError() != nil {
		return int(j.APIError().ErrorCode)
	}
	return 0
}

// watched collects what a watcher tells until done is content.
func watched(t *testing.T, w jetstream.KeyWatcher, done func(jetstream.KeyValueEntry) bool) {
	t.Helper()
	timeout := time.NewTimer(servertest.Patience)
	defer timeout.Stop()
	for {
		select {
		case u := <-w.Updates():
			if u != nil && done(u) {
				return
			}
		case <-timeout.C:
			t.Fatal("the watcher waits in vain")
		}
	}
}

// TestCaseC064 lets keys expire and be purged: watchers are told of each, once.
func TestCaseC064(t *testing.T) {
	eachClientStorage(t, func(t *testing.T, storage jetstream.StorageType) {
		s := newSite(t, "")
		ctx, js := s.client()
		kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: "T", TTL: 1500 * time.Millisecond, LimitMarkerTTL: 2 * time.Second, Storage: storage,
		})
		no(t, err)
		w, err := kv.WatchAll(ctx)
		no(t, err)
		defer func() { no(t, w.Stop()) }()
		begin := time.Now()
		_, err = kv.Put(ctx, "a", []byte("1"))
		no(t, err)
		_, err = kv.Put(ctx, "a", []byte("2"))
		no(t, err)
		_, err = kv.Create(ctx, "b", []byte("1"), jetstream.KeyTTL(time.Second))
		no(t, err)
		no(t, kv.Purge(ctx, "c"))
		no(t, kv.Delete(ctx, "d"))
		var order []string
		watched(t, w, func(u jetstream.KeyValueEntry) bool {
			if u.Operation() == jetstream.KeyValuePut {
				return false
			}
			order = append(order, u.Key()+" "+u.Operation().String())
			least := map[string]time.Duration{"a": 1500 * time.Millisecond, "b": time.Second}[u.Key()]
			if took := time.Since(begin); took < least {
				t.Errorf("%s has gone after %v", u.Key(), took)
			}
			return u.Key() == "a"
		})
		if got := fmt.Sprint(order); got != "[c KeyValuePurgeOp d KeyValueDeleteOp b KeyValuePurgeOp a KeyValuePurgeOp]" {
			t.Errorf("got %s", got)
		}
		for _, key := range []string{"a", "b", "c", "d"} {
			if e, err := kv.Get(ctx, key); !errors.Is(err, jetstream.ErrKeyNotFound) {
				t.Errorf("%s: got %v, %v, want not found", key, e, err)
			}
		}
		if m := s.get("KV_T", `{"last_by_subj":"$KV.T.a"}`); !bytes.Contains([]byte(m.Headers), []byte("Nats-Marker-Reason: MaxAge")) || len(m.Data) != 0 {
			t.Errorf("the marker of a: got %+v", m)
		}
		// What has expired can be created, whether its marker is still there or not.
		_, err = kv.Create(ctx, "b", []byte("again"))
		no(t, err)
		if e, err := kv.Get(ctx, "b"); err != nil || string(e.Value()) != "again" {
			t.Errorf("b again: got %v, %v", e, err)
		}
		// Markers and purges expire too, and leave none: 5 writes, markers of b, a and the deletion of d, b again, its marker.
		servertest.Eventually(t, "all to be gone", func() bool { return s.state("KV_T").Messages == 0 })
		if got := s.state("KV_T"); got.Last != 10 || len(got.Subjects) != 0 {
			t.Errorf("in the end: got %+v, want nothing and last sequence 10", got)
		}
	})
}

// TestCaseC064Restart lets keys expire while no server runs: the marker comes then.
func TestCaseC064Restart(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	ctx, js := s.client()
	kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "T", LimitMarkerTTL: time.Minute})
	no(t, err)
	_, err = kv.Create(ctx, "b", []byte("1"), jetstream.KeyTTL(time.Second))
	no(t, err)
	_, err = kv.Put(ctx, "stays", []byte("1"))
	no(t, err)
	stored := time.Now()
	s.stop()
	servertest.Eventually(t, "a second to pass", func() bool { return time.Since(stored) > time.Second })
	s.open()
	ctx, js = s.client()
	kv, err = js.KeyValue(ctx, "T")
	no(t, err)
	w, err := kv.WatchAll(ctx)
	no(t, err)
	defer func() { no(t, w.Stop()) }()
	watched(t, w, func(u jetstream.KeyValueEntry) bool {
		return u.Key() == "b" && u.Operation() == jetstream.KeyValuePurge
	})
	if keys, err := kv.Keys(ctx); err != nil || fmt.Sprint(keys) != "[stays]" {
		t.Errorf("keys: got %v, %v", keys, err)
	}
	s.holds("KV_T", 2, 2, 3)
}

// TestCaseC066 writes to keys that somebody else has written to.
func TestCaseC066(t *testing.T) {
	eachClientStorage(t, func(t *testing.T, storage jetstream.StorageType) {
		s := newSite(t, "")
		ctx, js := s.client()
		kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "B", Storage: storage, History: 3})
		no(t, err)
		first, err := kv.Put(ctx, "k", []byte("1"))
		no(t, err)
		second, err := kv.Update(ctx, "k", []byte("2"), first)
		no(t, err)
		other, err := kv.Put(ctx, "other", []byte("o"))
		no(t, err)
		check := func() {
			t.Helper()
			refused := func(what string, err error) {
				t.Helper()
				if errorCode(err) != 10071 && !errors.Is(err, jetstream.ErrKeyExists) {
					t.Errorf("%s: got %v, want 10071", what, err)
				}
			}
			for _, revision := range []uint64{first, other, 0, second + 100} {
				_, err = kv.Update(ctx, "k", []byte("bad"), revision)
				refused("update", err)
			}
			_, err = kv.Create(ctx, "k", []byte("bad"))
			refused("create", err)
			refused("delete", kv.Delete(ctx, "k", jetstream.LastRevision(first)))
			refused("purge", kv.Purge(ctx, "k", jetstream.LastRevision(other)))
			_, err = kv.Update(ctx, "none", []byte("bad"), second)
			refused("update of what is not there", err)
			for _, revision := range []uint64{other, second + 100} {
				if e, err := kv.GetRevision(ctx, "k", revision); !errors.Is(err, jetstream.ErrKeyNotFound) {
					t.Errorf("revision %d: got %v, %v, want not found", revision, e, err)
				}
			}
			if e, err := kv.GetRevision(ctx, "k", first); err != nil || string(e.Value()) != "1" {
				t.Errorf("the first revision: got %v, %v", e, err)
			}
			if e, err := kv.Get(ctx, "k"); err != nil || string(e.Value()) != "2" || e.Revision() != second {
				t.Errorf("the value: got %v, %v", e, err)
			}
			if _, err := kv.Get(ctx, "none"); !errors.Is(err, jetstream.ErrKeyNotFound) {
				t.Errorf("what is not there: got %v", err)
			}
		}
		check()
		if storage == jetstream.FileStorage {
			s.restart()
			ctx, js = s.client()
			kv, err = js.KeyValue(ctx, "B")
			no(t, err)
			check()
		}
		// Deleted and purged keys can be created, once.
		no(t, kv.Delete(ctx, "k", jetstream.LastRevision(second)))
		_, err = kv.Create(ctx, "k", []byte("3"))
		no(t, err)
		if _, err = kv.Create(ctx, "k", []byte("4")); !errors.Is(err, jetstream.ErrKeyExists) {
			t.Errorf("create of what was created: got %v", err)
		}
		no(t, kv.Purge(ctx, "k"))
		_, err = kv.Create(ctx, "k", []byte("5"))
		no(t, err)
		if h, err := kv.History(ctx, "k"); err != nil || len(h) != 2 {
			t.Errorf("history after a purge: got %v, %v, want the purge and what came", h, err)
		}
	})
}

// TestCaseC066Parallel has several clients count in one key: no step is lost.
func TestCaseC066Parallel(t *testing.T) {
	const clients, steps = 4, 25
	eachClientStorage(t, func(t *testing.T, storage jetstream.StorageType) {
		s := newSite(t, "")
		ctx, js := s.client()
		_, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "B", Storage: storage})
		no(t, err)
		step := func(kv jetstream.KeyValue) error {
			for {
				e, err := kv.Get(ctx, "n")
				if errors.Is(err, jetstream.ErrKeyNotFound) {
					_, err = kv.Create(ctx, "n", []byte("1"))
				} else if err == nil {
					var n int
					if n, err = strconv.Atoi(string(e.Value())); err == nil {
						_, err = kv.Update(ctx, "n", []byte(strconv.Itoa(n+1)), e.Revision())
					}
				}
				if err == nil || errorCode(err) != 10071 && !errors.Is(err, jetstream.ErrKeyExists) {
					return err
				}
			}
		}
		var all sync.WaitGroup
		for range clients {
			js, err := jetstream.New(servertest.Connect(t, s.server))
			no(t, err)
			kv, err := js.KeyValue(ctx, "B")
			no(t, err)
			all.Go(func() {
				for range steps {
					if err := step(kv); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		if m := s.get("KV_B", `{"last_by_subj":"$KV.B.n"}`); string(m.Data) != strconv.Itoa(clients*steps) || m.Sequence != clients*steps {
			t.Errorf("got %s at %d, want %d", m.Data, m.Sequence, clients*steps)
		}
	})
}

// TestCaseC068 puts odd objects into a store, and odd things beside them.
func TestCaseC068(t *testing.T) {
	eachClientStorage(t, func(t *testing.T, storage jetstream.StorageType) {
		s := newSite(t, "")
		ctx, js := s.client()
		o, err := js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "OB", Storage: storage})
		no(t, err)
		put := func(name string, data []byte, chunks uint32) *jetstream.ObjectInfo {
			t.Helper()
			i, err := o.PutBytes(ctx, name, data)
			no(t, err)
			if i.Chunks != chunks {
				t.Errorf("%s: %d chunks, want %d", name, i.Chunks, chunks)
			}
			if got, err := o.GetBytes(ctx, name); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: got %d bytes, %v, want %d", name, len(got), err, len(data))
			}
			return i
		}
		put("empty", nil, 0)
		put("big", bytes.Repeat([]byte("x"), 300<<10), 3)
		put("big", bytes.Repeat([]byte("y"), 256<<10), 2)
		put("big", []byte("small"), 1)
		put("was", []byte("something"), 1)
		put("was", nil, 0)
		if got := s.state("OBJ_OB").Messages; got != 4 { // three infos and a chunk
			t.Errorf("%d messages, want 4: the old chunks have not gone", got)
		}
		names := []string{"a b/c.d", "日本/ü", "..", "*", ">", "a.>", "$JS.API", " ", "\x00"}
		for _, name := range names {
			put(name, []byte("of "+name), 1)
		}
		if list, err := o.List(ctx); err != nil || len(list) != len(names)+3 {
			t.Errorf("list: got %d objects, %v", len(list), err)
		}
		put("src", []byte("v"), 1)
		info, err := o.GetInfo(ctx, "src")
		no(t, err)
		link, err := o.AddLink(ctx, "link", info)
		no(t, err)
		if got, err := o.GetBytes(ctx, "link"); err != nil || string(got) != "v" {
			t.Errorf("by the link: got %q, %v", got, err)
		}
		if _, err = o.AddLink(ctx, "link2", link); err == nil {
			t.Error("a link to a link was made")
		}
		no(t, o.Delete(ctx, "src"))
		if _, err := o.GetBytes(ctx, "link"); !errors.Is(err, jetstream.ErrObjectNotFound) {
			t.Errorf("by a link to nothing: got %v", err)
		}
		odd := put("odd", []byte("hello"), 1)
		if a := s.publish("$O.OB.C."+odd.NUID, "EVIL"); a.Error.Code != 0 {
			t.Fatalf("a chunk of somebody else: %v", a)
		}
		if _, err := o.GetBytes(ctx, "odd"); !errors.Is(err, jetstream.ErrDigestMismatch) {
			t.Errorf("with a chunk of somebody else: got %v, want another digest", err)
		}
		put("odd", []byte("hello"), 1)
		s.sealed(t, o, names)
		if storage == jetstream.FileStorage {
			s.restart()
			ctx, js = s.client()
			o, err = js.ObjectStore(ctx, "OB")
			no(t, err)
			s.sealed(t, o, names)
		}
	})
}

// sealed seals the bucket, again if it is: all can be read and nothing changed.
func (s *site) sealed(t *testing.T, o jetstream.ObjectStore, names []string) {
	t.Helper()
	no(t, o.Seal(t.Context()))
	before := s.state("OBJ_OB")
	for _, name := range names {
		if got, err := o.GetBytes(t.Context(), name); err != nil || string(got) != "of "+name {
			t.Errorf("%q in a sealed bucket: got %q, %v", name, got, err)
		}
	}
	s.rejects(10109, "$O.OB.M.x", "v")
	s.rejects(10109, "$O.OB.C.x", "v")
	s.rejects(10109, "$O.OB.M.x", "v", "Nats-Rollup", "sub")
	if _, err := o.PutBytes(t.Context(), "after", []byte("v")); err == nil {
		t.Error("an object was put into a sealed bucket")
	}
	if err := o.Delete(t.Context(), "big"); err == nil {
		t.Error("an object was deleted in a sealed bucket")
	}
	s.refuses("STREAM.PURGE.OBJ_OB", "", 10109)
	s.refuses("STREAM.MSG.DELETE.OBJ_OB", `{"seq":1}`, 10109)
	wants(t, "a sealed bucket", s.state("OBJ_OB"), before)
}
