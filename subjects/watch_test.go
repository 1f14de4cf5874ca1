package subjects_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"runnel/subjects"
)

// newMember is an entry of a queue group.
func newMember(pattern, queue string, value int) *subjects.Entry[int] {
	e := newEntry(pattern, value)
	e.Queue = queue
	return e
}

// record is a watcher that notes what it is told.
type record []bool

func (r *record) changed(matched bool) { *r = append(*r, matched) }

func TestWatch(t *testing.T) {
	tree := subjects.NewTree[int]()
	tree.Insert(newEntry("early", 0))
	var early, any, group record
	tree.Watch("early", "", early.changed)
	tree.Watch("a.b.c", "", any.changed)
	tree.Watch("a.b.c", "q", group.changed)
	steps := []struct {
		pattern, queue string
		any, group     int // entries that match afterwards
	}{
		{"a.b.c", "", 1, 0},
		{"a.b", "", 1, 0},
		{"a.b.c.d", "", 1, 0},
		{"a.*.c", "q", 2, 1},
		{"a.>", "other", 3, 1},
		{">", "", 4, 1},
		{"a.b.c.>", "", 4, 1},
		{"*", "", 4, 1},
		{"a.b.c", "q", 5, 2},
		{"b.>", "q", 5, 2},
		{"*.*.*", "q", 6, 3},
	}
	var entries []*subjects.Entry[int]
	for i, step := range steps {
		e := newMember(step.pattern, step.queue, i)
		entries = append(entries, e)
		tree.Insert(e)
		tree.Insert(e) // is in already
		if last(any) != (step.any > 0) || last(group) != (step.group > 0) {
			t.Errorf("after %q %q: told %v and %v", step.pattern, step.queue, any, group)
		}
	}
	for i := len(entries) - 1; i >= 0; i-- {
		tree.Remove(entries[i])
		tree.Remove(entries[i]) // is not in
		before := struct{ any, group int }{}
		if i > 0 {
			before.any, before.group = steps[i-1].any, steps[i-1].group
		}
		if last(any) != (before.any > 0) || last(group) != (before.group > 0) {
			t.Errorf("without %q %q: told %v and %v", steps[i].pattern, steps[i].queue, any, group)
		}
	}
	for name, tt := range map[string]struct{ got, want record }{
		"early": {early, record{true}},
		"any":   {any, record{false, true, false}},
		"group": {group, record{false, true, false}},
	} {
		if fmt.Sprint(tt.got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: told %v, want %v", name, tt.got, tt.want)
		}
	}
}

func last(r record) bool { return r[len(r)-1] }

// TestWatchInvalid: what is no literal subject is matched by nothing, and disturbs nobody.
func TestWatchInvalid(t *testing.T) {
	tree := subjects.NewTree[int]()
	for _, subject := range []string{"", "a.*", ">", "a..b", "a.", "a b"} {
		var got record
		w := tree.Watch(subject, "", got.changed)
		e := newEntry(">", 0)
		tree.Insert(e)
		tree.Remove(e)
		tree.Unwatch(w)
		if len(got) != 1 || got[0] {
			t.Errorf("%q: told %v, want once that nothing matches", subject, got)
		}
	}
}

func TestUnwatch(t *testing.T) {
	tree := subjects.NewTree[int]()
	var one, two record
	first := tree.Watch("a.b", "", one.changed)
	second := tree.Watch("a.b", "", two.changed)
	tree.Unwatch(first)
	tree.Unwatch(first)
	tree.Insert(newEntry("a.*", 0))
	if len(one) != 1 || len(two) != 2 {
		t.Errorf("told %v and %v, want the second one only", one, two)
	}
	tree.Unwatch(second)
	if n := tree.WatchNodes(); n != 0 {
		t.Errorf("%d places are kept when nobody watches", n)
	}
}

// TestWatchModel compares what watchers know with what matches, while entries and watchers come and go.
func TestWatchModel(t *testing.T) {
	type watcher struct {
		watch   *subjects.Watch
		subject string
		queue   string
		matched bool
		calls   int
	}
	random := rand.New(rand.NewPCG(7, 7))
	tree := subjects.NewTree[int]()
	all, queues := patterns(), []string{"", "q", "r"}
	var model list
	var watchers []*watcher
	for range 5000 {
		switch random.IntN(6) {
		case 0, 1:
			e := newMember(all[random.IntN(len(all))], queues[random.IntN(3)], len(model))
			tree.Insert(e)
			model = append(model, e)
		case 2, 3:
			if len(model) > 0 {
				i := random.IntN(len(model))
				tree.Remove(model[i])
				model[i] = model[len(model)-1]
				model = model[:len(model)-1]
			}
		case 4:
			w := &watcher{subject: []string{"a", "b", "a.b", "a.a", "b.a.b", "a.b.z"}[random.IntN(6)], queue: queues[random.IntN(3)]}
			w.watch = tree.Watch(w.subject, w.queue, func(matched bool) {
				if w.calls++; w.calls > 1 && w.matched == matched {
					t.Errorf("%s %q: told %t twice", w.subject, w.queue, matched)
				}
				w.matched = matched
			})
			watchers = append(watchers, w)
		case 5:
			if len(watchers) > 10 {
				i := random.IntN(len(watchers))
				tree.Unwatch(watchers[i].watch)
				watchers[i] = watchers[len(watchers)-1]
				watchers = watchers[:len(watchers)-1]
			}
		}
		for _, w := range watchers {
			want := false
			for _, e := range model.match(w.subject) {
				want = want || w.queue == "" || w.queue == e.Queue
			}
			if w.matched != want {
				t.Fatalf("%s %q: told %t, want %t", w.subject, w.queue, w.matched, want)
			}
		}
	}
}

// BenchmarkWatch measures a subscription that comes and goes while 10,000 subjects are watched and 100,000
// subscriptions are there.
func BenchmarkWatch(b *testing.B) {
	for _, watches := range []int{0, 10_000} {
		tree := subjects.NewTree[int]()
		for i := range 100_000 {
			tree.Insert(newEntry(fmt.Sprintf("_INBOX.%d.*", i), i))
		}
		for i := range watches {
			tree.Watch(fmt.Sprintf("deliver.%d.%d", i%100, i), "", func(bool) {})
		}
		for _, pattern := range []string{"orders.new", "deliver.1.101", "_INBOX.new.*", "deliver.1.*", "deliver.*.101", "deliver.>"} {
			b.Run(fmt.Sprintf("watches=%d/%s", watches, pattern), func(b *testing.B) {
				e := newEntry(pattern, 0)
				b.ReportAllocs()
				for b.Loop() {
					tree.Insert(e)
					tree.Remove(e)
				}
			})
		}
	}
}
