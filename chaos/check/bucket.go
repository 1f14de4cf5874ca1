package check

import (
	"maps"
	"slices"

	"runnel/chaos/history"
)

// Bucket checks puts, deletes and watchers of a bucket (W6). In the end each key has the newest value that
// was acknowledged, or a newer one that may have happened, the same at every node. A watcher sees the
// revisions of each key rise, also when it connects again, and one that was there to the end knows what the
// store has.
func Bucket(ops []history.Operation, stream string) []Finding {
	c := newCollector(stream)
	views := gatherViews(c, ops, stream)
	p := gatherPuts(ops, stream)
	a := agree(c, ops, stream)
	for i := range ops {
		if o := &ops[i]; o.Stream == stream && o.Kind == history.Put && o.Result == history.OK {
			a.see(c, o)
		}
	}
	for _, v := range views {
		latest := v.latest()
		for _, key := range slices.Sorted(maps.Keys(latest)) {
			p.check(c, latest[key])
		}
		for _, key := range slices.Sorted(maps.Keys(p.newest)) {
			put := p.newest[key]
			if o := latest[key]; o == nil || o.Sequence < put.Sequence {
				c.add(Lost, v.node, of(put, o), "revision %d of %q (%q) was acknowledged and is not here, read %s", put.Sequence, key, put.Value, v.way())
			}
		}
	}
	replicas(c, views, nil)
	watched := watchers(c, ops, stream, p)
	if len(views) > 0 {
		compareWatchers(c, watched, views[0])
	}
	return c.findings()
}

// puts is what clients did to a bucket.
type puts struct {
	sent    *sent
	newest  map[string]*history.Operation // by key: the acknowledged put or delete with the highest revision
	deletes map[string]bool               // keys of which a delete may have happened
}

func gatherPuts(ops []history.Operation, stream string) *puts {
	p := &puts{sent: gatherSent(ops, stream), newest: map[string]*history.Operation{}, deletes: map[string]bool{}}
	for i := range ops {
		o := &ops[i]
		if o.Stream != stream || o.Kind != history.Put || o.Result == history.Failed {
			continue
		}
		if o.Value == "" {
			p.deletes[o.Key] = true
		}
		if other := p.newest[o.Key]; o.Result == history.OK && (other == nil || other.Sequence < o.Sequence) {
			p.newest[o.Key] = o
		}
	}
	return p
}

// check reports a value or a deletion that nobody can have made.
func (p *puts) check(c *collector, o *history.Operation) {
	if o.Value != "" {
		if v := p.sent.find(o.Value); !p.sent.foreign(c, o) && v.first.Key != o.Key {
			c.add(Unexpected, o.Node, of(v.first, o), "%q was put under %q and is under %q", o.Value, v.first.Key, o.Key)
		}
		return
	}
	if !p.deletes[o.Key] {
		c.add(Unexpected, o.Node, of(o), "%q is deleted at revision %d, and nobody deleted it", o.Key, o.Sequence)
	}
}

// watcher is what one watcher knows.
type watcher struct {
	last  map[string]*history.Operation // by key
	fresh map[string]bool               // keys that it was told of since it last began
	ended *history.Operation
}

// watchers follows each watcher through the history.
func watchers(c *collector, ops []history.Operation, stream string, p *puts) map[int]*watcher {
	all := map[int]*watcher{}
	for i := range ops {
		o := &ops[i]
		if o.Stream != stream || o.Kind != history.Watch && o.Kind != history.WatchStart && o.Kind != history.WatchEnd {
			continue
		}
		w := all[o.Process]
		if w == nil {
			w = &watcher{last: map[string]*history.Operation{}, fresh: map[string]bool{}}
			all[o.Process] = w
		}
		switch o.Kind {
		case history.WatchStart:
			clear(w.fresh)
			w.ended = nil
		case history.WatchEnd:
			w.ended = o
		case history.Watch:
			p.check(c, o)
			w.told(c, o)
		}
	}
	return all
}

// told takes one update.
func (w *watcher) told(c *collector, o *history.Operation) {
	before := w.last[o.Key]
	switch {
	case before == nil || o.Sequence > before.Sequence:
	case o.Sequence < before.Sequence:
		c.add(Order, o.Node, of(before, o), "watcher %d was told revision %d of %q after %d", o.Process, o.Sequence, o.Key, before.Sequence)
	case w.fresh[o.Key]:
		c.add(Duplicate, o.Node, of(before, o), "watcher %d was told revision %d of %q twice", o.Process, o.Sequence, o.Key)
	}
	w.last[o.Key] = o
	w.fresh[o.Key] = true
}

// compareWatchers compares what watchers know in the end with the store. A deleted key may be unknown to
// a watcher that came later, and be gone from the store.
func compareWatchers(c *collector, watched map[int]*watcher, v *view) {
	latest := v.latest()
	ended := 0
	for _, process := range slices.Sorted(maps.Keys(watched)) {
		w := watched[process]
		if w.ended == nil || w.ended.Result != history.OK {
			continue
		}
		ended++
		for _, key := range slices.Sorted(maps.Keys(latest)) {
			o := latest[key]
			if known := w.last[key]; (known == nil && o.Value != "") || known != nil && known.Sequence != o.Sequence {
				c.add(Differs, w.ended.Node, of(known, o), "watcher %d does not know revision %d of %q (%q)", process, o.Sequence, key, o.Value)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(w.last)) {
			known := w.last[key]
			if latest[key] == nil && known.Value != "" {
				c.add(Differs, w.ended.Node, of(known, v.drained), "watcher %d knows revision %d of %q, which the store does not have", process, known.Sequence, key)
			}
		}
	}
	if ended == 0 {
		c.add(Unchecked, "", nil, "no watcher of %s was there to the end", v.drained.Stream)
	}
}
