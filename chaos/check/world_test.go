package check_test

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"runnel/chaos/history"
)

// world is a server that does everything right, and clients that do not always hear of it: requests take
// effect between their start and their end, or, if no answer comes, then, later, or never. What is in it is
// a log of messages by sequence; each test says what requests do to it.
type world struct {
	rng    *rand.Rand
	now    time.Duration
	queue  events
	count  int // of events so far, so that those of one time keep their order
	ops    []history.Operation
	stored map[uint64]message
	last   uint64
	names  map[int]int // values so far, by process
}

// message is what the server keeps.
type message struct{ key, value string }

// event is something that happens at a time.
type event struct {
	at    time.Duration
	order int
	do    func()
}

type events []event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e events) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[i].at, e[j].at), cmp.Compare(e[i].order, e[j].order)) < 0
}
func (e *events) Push(x any) { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newWorld(seed uint64) *world {
	return &world{rng: rand.New(rand.NewPCG(seed, 7)), stored: map[uint64]message{}, names: map[int]int{}}
}

// after lets something happen later.
func (w *world) after(d time.Duration, do func()) {
	w.count++
	heap.Push(&w.queue, event{w.now + d, w.count, do})
}

// some is a random time from 1 ms on.
func (w *world) some(limit time.Duration) time.Duration {
	return time.Millisecond + time.Duration(w.rng.Int64N(int64(limit)))
}

// run lets everything happen.
func (w *world) run() {
	for w.queue.Len() > 0 {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
	}
}

// value is a new value of a process.
func (w *world) value(process int) string {
	w.names[process]++
	return fmt.Sprintf("%d-%d", process, w.names[process])
}

// request sends an operation. apply is what it does at the server: it may set its Sequence and Result. Then the
// process goes on with what it knows.
func (w *world) request(o history.Operation, apply func(*history.Operation), then func(history.Operation)) {
	o.Start, o.Workload, o.Stream = w.now, "W", cmp.Or(o.Stream, "S")
	if o.Node == "" {
		o.Node = w.node()
	}
	server := o
	server.Result = history.OK
	way := w.some(20 * time.Millisecond)
	switch w.rng.IntN(8) {
	case 0: // the answer is lost
		w.after(way, func() { apply(&server) })
		w.after(time.Second, func() { w.record(o, then) })
	case 1: // so is the request
		w.after(time.Second, func() { w.record(o, then) })
	case 2: // it comes long after everybody has given up
		w.after(time.Second+w.some(3*time.Second), func() { apply(&server) })
		w.after(time.Second, func() { w.record(o, then) })
	default:
		w.after(way, func() { apply(&server) })
		w.after(way+w.some(20*time.Millisecond), func() { w.record(server, then) })
	}
}

// record notes an operation that ends now.
func (w *world) record(o history.Operation, then func(history.Operation)) {
	o.End = w.now
	w.ops = append(w.ops, o)
	if then != nil {
		then(o)
	}
}

// note records something that takes no time.
func (w *world) note(o history.Operation) {
	o.Workload, o.Stream, o.Start, o.Result = "W", cmp.Or(o.Stream, "S"), w.now, history.OK
	if o.Node == "" {
		o.Node = w.node()
	}
	w.record(o, nil)
}

func (w *world) node() string { return fmt.Sprintf("n%d", 1+w.rng.IntN(3)) }

// store appends a message.
func (w *world) store(o *history.Operation) {
	w.last++
	w.stored[w.last] = message{o.Key, o.Value}
	o.Sequence = w.last
}

// refuse answers that it is not done.
func refuse(o *history.Operation) { o.Result, o.Error, o.Sequence = history.Failed, "refused", 0 }

// loop lets each of a number of processes do something, each time when the last is done.
func (w *world) loop(first, processes, times int, step func(process int, again func())) {
	for p := first; p < first+processes; p++ {
		left := times
		var again func()
		again = func() {
			if left--; left >= 0 {
				w.after(w.some(30*time.Millisecond), func() { step(p, again) })
			}
		}
		again()
	}
}

// publishers send values, and some of those that they do not know of again.
func (w *world) publishers(processes, times, keys int, apply func(*history.Operation)) {
	w.loop(1, processes, times, func(p int, again func()) {
		o := history.Operation{Process: p, Kind: history.Publish, Value: w.value(p), Key: fmt.Sprintf("k%d", w.rng.IntN(keys))}
		var then func(history.Operation)
		then = func(got history.Operation) {
			if got.Result == history.Unknown && w.rng.IntN(2) == 0 {
				w.request(o, apply, then)
				return
			}
			again()
		}
		w.request(o, apply, then)
	})
}

// finish lets all happen and reads everything at three nodes in two ways.
func (w *world) finish() []history.Operation {
	w.run()
	w.now += time.Minute
	w.drain("S", w.last, w.stored)
	return w.ops
}

// drain reads a stream in the end.
func (w *world) drain(stream string, last uint64, stored map[uint64]message) {
	for _, node := range []string{"n1", "n2", "n3"} {
		for _, way := range []string{"", "pin-" + node} {
			for s := uint64(1); s <= last; s++ {
				if m, ok := stored[s]; ok {
					w.note(history.Operation{Process: 99, Kind: history.Final, Stream: stream, Node: node, Consumer: way, Key: m.key, Value: m.value, Sequence: s})
				}
			}
			w.note(history.Operation{Process: 99, Kind: history.Drained, Stream: stream, Node: node, Consumer: way, Sequence: last})
		}
	}
}

// mutation breaks a history in one way. It tells whether there was something to break.
type mutation struct {
	name string
	do   func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool)
}

// pick chooses one of the operations that satisfy a condition; -1 if there are none.
func pick(rng *rand.Rand, ops []history.Operation, is func(history.Operation) bool) int {
	var all []int
	for i, o := range ops {
		if is(o) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return -1
	}
	return all[rng.IntN(len(all))]
}

func isFinal(o history.Operation) bool { return o.Kind == history.Final && o.Stream == "S" }

// acked are the sequences that a client was told.
func acked(ops []history.Operation) map[uint64]bool {
	all := map[uint64]bool{}
	for _, o := range ops {
		switch o.Kind {
		case history.Publish, history.Swap, history.Put, history.Commit:
			if o.Result == history.OK {
				all[o.Sequence] = true
			}
		}
	}
	return all
}

// dropEverywhere removes an acknowledged message from all final reads, dropAtNode from those of one node.
func dropEverywhere(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
	return drop(rng, ops, func(history.Operation, history.Operation) bool { return true })
}

func dropAtNode(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
	return drop(rng, ops, func(o, chosen history.Operation) bool { return o.Node == chosen.Node })
}

func drop(rng *rand.Rand, ops []history.Operation, where func(o, chosen history.Operation) bool) ([]history.Operation, bool) {
	known := acked(ops)
	i := pick(rng, ops, func(o history.Operation) bool { return isFinal(o) && known[o.Sequence] })
	if i < 0 {
		return nil, false
	}
	chosen := ops[i]
	return slices.DeleteFunc(ops, func(o history.Operation) bool {
		return isFinal(o) && o.Sequence == chosen.Sequence && where(o, chosen)
	}), true
}

// exchange gives two messages of a node each other's place.
func exchange(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
	i := pick(rng, ops, isFinal)
	if i < 0 {
		return nil, false
	}
	j := pick(rng, ops, func(o history.Operation) bool {
		return isFinal(o) && o.Node == ops[i].Node && o.Consumer == ops[i].Consumer && o.Sequence != ops[i].Sequence
	})
	if j < 0 {
		return nil, false
	}
	a, b := &ops[i], &ops[j]
	a.Value, b.Value, a.Key, b.Key = b.Value, a.Value, b.Key, a.Key
	return ops, true
}

// copyToEnd stores a message a second time, at every node. Only such are chosen as were sent once.
func copyToEnd(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
	sent := map[string]int{}
	last := uint64(0)
	for _, o := range ops {
		if o.Kind == history.Publish || o.Kind == history.Add || o.Kind == history.Commit {
			sent[o.Value]++
		}
		if isFinal(o) || o.Kind == history.Drained {
			last = max(last, o.Sequence)
		}
	}
	i := pick(rng, ops, func(o history.Operation) bool { return isFinal(o) && sent[o.Value] == 1 })
	if i < 0 {
		return nil, false
	}
	chosen := ops[i]
	for _, o := range slices.Clone(ops) {
		if isFinal(o) && o.Value == chosen.Value {
			o.Sequence = last + 1
			ops = append(ops, o)
		}
	}
	return ops, true
}

// invent stores a message that nobody sent, at one node.
func invent(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
	i := pick(rng, ops, func(o history.Operation) bool { return o.Kind == history.Drained && o.Stream == "S" })
	o := ops[i]
	o.Kind, o.Value, o.Key, o.Sequence = history.Final, "invented", "k0", o.Sequence+1
	return append(ops, o), true
}

// forkNode shifts the end of a node's log by one, as if it had another past. Both ways of reading see it.
func forkNode(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
	i := pick(rng, ops, isFinal)
	if i < 0 {
		return nil, false
	}
	chosen := ops[i]
	for i := range ops {
		if o := &ops[i]; isFinal(*o) && o.Node == chosen.Node && o.Sequence >= chosen.Sequence {
			o.Sequence++
		}
	}
	return ops, true
}

// edit changes one operation that satisfies a condition.
func edit(is func(history.Operation) bool, change func(*history.Operation)) func(*rand.Rand, []history.Operation) ([]history.Operation, bool) {
	return func(rng *rand.Rand, ops []history.Operation) ([]history.Operation, bool) {
		i := pick(rng, ops, is)
		if i < 0 {
			return nil, false
		}
		change(&ops[i])
		return ops, true
	}
}
