package keyed_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"runnel/jetlog/keyed"
)

// next returns what Next says, 0 for nothing.
func next(table *keyed.Table) uint64 {
	sequence, _ := table.Next()
	return sequence
}

// take takes what is ready and returns it, 0 for nothing.
func take(t *testing.T, table *keyed.Table) uint64 {
	t.Helper()
	sequence := next(table)
	if sequence != 0 && !table.Take(sequence) {
		t.Fatalf("message %d is ready and cannot be taken", sequence)
	}
	return sequence
}

// TestScript plays operations, one a word, against what they return:
//
//	1a+  1a-   offer message 1 with key a: ready, or it waits
//	t1 d1 b1 f1 u1   take, done, back, fail, untake: true; with ! behind it false
//	n1 n0      the next one is 1; there is none
func TestScript(t *testing.T) {
	tests := []struct {
		title, script string
		block         bool
	}{
		{"one after the other", "n0 1a+ n1 t1 n0 d1 n0 2a+ t2 d2", false},
		{"a key waits", "1a+ 2a- 3b+ t1 n3 t3 n0 d1 n2 t2 d2 d3 n0", false},
		{"in the order of the stream", "1a+ 2a- 3a- t1 d1 n2 t2 d2 n3 t3 d3 n0", false},
		{"in the order of becoming free", "1a+ 2b+ 3a- 4b- 5c+ t1 t2 d2 d1 n5 t5 n4 t4 n3", false},
		{"a noisy key takes one turn a round", "1a+ 2a- 3a- 4a- 5b+ 6c+ t1 d1 n5 t5 n6 t6 n2 t2 d5 d6 d2 n3", false},
		{"taken out of order", "1a+ 2b+ 3c+ t2 n1 t1 n3 t3 n0", false},
		{"taken twice", "1a+ t1 t1! 2a- t2! d1 t2 t3!", false},
		{"returned", "1a+ 2a- t1 b1 n0 t2! t1 b1 b1! t1 d1 n2", false},
		{"done while returned", "1a+ 2a- t1 b1 d1 n2 t2 d2 d2!", false},
		{"done while ready", "1a+ 2a- 3b+ d1 n3 t3 n2 d2 n0", false},
		{"waiting is not done", "1a+ 2a- d2! b2! f2! t1 d1 d2", false},
		{"only in flight comes back", "1a+ b1! f1! t1 b1", false},
		{"failed and skipped", "1a+ 2a- t1 f1 n2 t2 b2 f2 n0 d1!", false},
		{"failed and blocked", "1a+ 2a- 3b+ t1 f1 n3 t3 n0 t1! f1! d3 n0 d1 n2", true},
		{"blocked comes back", "1a+ 2a- t1 f1 b1 n0 t1 d1 n2", true},
		{"not delivered after all", "1a+ 2a- 3b+ u1! t1 u1 n1 t1 t3 u3 u1 n1 t1 n3 u3! d1 u1! n3 t3 n2", false},
		{"returned and blocked", "1a+ 2a- t1 b1 f1 n0 t1! d1 n2", true},
	}
	for _, tt := range tests {
		table := keyed.New(keyed.Config{Block: tt.block})
		for word := range strings.FieldsSeq(tt.script) {
			var sequence uint64
			got, want := false, !strings.HasSuffix(word, "!")
			op := word[0]
			if _, err := fmt.Sscan(strings.Trim(word, "abcdfntu!+-"), &sequence); err != nil {
				t.Fatal(err)
			}
			switch op {
			case 't':
				got = table.Take(sequence)
			case 'd':
				got = table.Done(sequence)
			case 'b':
				got = table.Back(sequence)
			case 'f':
				got = table.Fail(sequence)
			case 'u':
				got = table.Untake(sequence)
			case 'n':
				got = next(table) == sequence
			default:
				got, want = table.Offer(sequence, []byte(word[1:2])), word[2] == '+'
			}
			if got != want {
				t.Errorf("%s: %q at %s: %v, want %v; next is %d", tt.title, tt.script, word, got, want, next(table))
				break
			}
		}
	}
}

// naive is the plainest table: all undone messages of each key, and the order in which keys became free.
type naive struct {
	block  bool
	undone map[string][]uint64
	state  map[string]keyed.State // of the first of them
	free   []string
	key    map[uint64]string
}

func (n *naive) offer(sequence uint64, key string) bool {
	n.key[sequence] = key
	n.undone[key] = append(n.undone[key], sequence)
	if len(n.undone[key]) > 1 {
		return false
	}
	n.ready(key)
	return true
}

func (n *naive) ready(key string) {
	n.state[key] = keyed.Ready
	n.free = append(n.free, key)
}

func (n *naive) next() uint64 {
	if len(n.free) == 0 {
		return 0
	}
	return n.undone[n.free[0]][0]
}

// move changes the state of a message that has its turn and is in one of the states.
func (n *naive) move(sequence uint64, to keyed.State, from ...keyed.State) bool {
	key := n.key[sequence]
	if list := n.undone[key]; len(list) == 0 || list[0] != sequence || !slices.Contains(from, n.state[key]) {
		return false
	}
	n.free = slices.DeleteFunc(n.free, func(k string) bool { return k == key })
	n.state[key] = to
	return true
}

func (n *naive) done(sequence uint64) bool {
	if !n.move(sequence, keyed.InFlight, keyed.Ready, keyed.InFlight, keyed.Returned, keyed.Blocked) {
		return false
	}
	key := n.key[sequence]
	if n.undone[key] = n.undone[key][1:]; len(n.undone[key]) > 0 {
		n.ready(key)
	}
	return true
}

func (n *naive) fail(sequence uint64) bool {
	if n.block {
		return n.move(sequence, keyed.Blocked, keyed.InFlight, keyed.Returned)
	}
	return n.move(sequence, keyed.InFlight, keyed.InFlight, keyed.Returned) && n.done(sequence)
}

func (n *naive) untake(sequence uint64) bool {
	if !n.move(sequence, keyed.Ready, keyed.InFlight) {
		return false
	}
	n.free = slices.Insert(n.free, 0, n.key[sequence])
	return true
}

// TestModel does the same random things to a Table and to a naive one.
func TestModel(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		block, keys := seed%2 == 0, 1+rnd.IntN(30)
		if seed%10 == 0 {
			keys = 3000
		}
		table := keyed.New(keyed.Config{Block: block, PerKeyMax: 10_000})
		model := &naive{block: block, undone: map[string][]uint64{}, state: map[string]keyed.State{}, key: map[uint64]string{}}
		var last uint64
		for step := range 2000 {
			sequence := last - min(last, uint64(rnd.IntN(60)))
			if rnd.IntN(2) == 0 {
				sequence = next(table)
			}
			var got, want bool
			op := rnd.IntN(9)
			switch op {
			case 0, 1:
				last++
				key := fmt.Sprint(min(rnd.IntN(keys), rnd.IntN(keys)))
				got, want = table.Offer(last, []byte(key)), model.offer(last, key)
			case 2, 3:
				got, want = table.Take(sequence), model.move(sequence, keyed.InFlight, keyed.Ready, keyed.Returned)
			case 4, 5:
				got, want = table.Done(sequence), model.done(sequence)
			case 6:
				got, want = table.Back(sequence), model.move(sequence, keyed.Returned, keyed.InFlight, keyed.Blocked)
			case 7:
				got, want = table.Fail(sequence), model.fail(sequence)
			case 8:
				got, want = table.Untake(sequence), model.untake(sequence)
			}
			if got != want || next(table) != model.next() {
				t.Fatalf("seed %d, step %d: operation %d of %d: %v, next %d; want %v, next %d", seed, step, op, sequence, got, next(table), want, model.next())
			}
		}
		compareHolders(t, table, model)
	}
}

func compareHolders(t *testing.T, table *keyed.Table, model *naive) {
	t.Helper()
	waiting, states := 0, map[keyed.State]int{}
	for key, list := range model.undone {
		hash := table.Hash([]byte(key))
		hold, ok := table.Holder(hash)
		if ok != (len(list) > 0) {
			t.Fatalf("key %s is known %v, has undone messages %d", key, ok, len(list))
		}
		if !ok {
			continue
		}
		states[hold.State]++
		waiting += len(list) - 1
		if hold.State == keyed.Ready {
			waiting++
		}
		if hold.Sequence != list[0] || hold.State != model.state[key] || hold.Behind != len(list)-1 || hold.More {
			t.Fatalf("key %s: %+v, want %s with %v", key, hold, model.state[key], list)
		}
		if behind := slices.Collect(table.Blocked(hash, 1000)); !slices.Equal(behind, list[1:]) {
			t.Fatalf("key %s: behind are %v, want %v", key, behind, list[1:])
		}
	}
	counts := table.Counts()
	for s, n := range counts.ByState {
		if n != states[keyed.State(s)] {
			t.Errorf("%d keys are %s, want %d", n, keyed.State(s), states[keyed.State(s)])
		}
	}
	if counts.Waiting != waiting {
		t.Errorf("%d messages wait, want %d", counts.Waiting, waiting)
	}
	held := slices.Collect(table.Held(1_000_000))
	if want := states[keyed.Blocked] + states[keyed.InFlight] + states[keyed.Returned]; len(held) != want {
		t.Errorf("%d keys are held, want %d", len(held), want)
	}
	if len(held) > 2 && !slices.Equal(slices.Collect(table.Held(2)), held[:2]) {
		t.Error("the first two held keys are others")
	}
}

// stream is messages by their sequence, from 1, which a consumer goes through with small limits. It finds what the
// Table has forgotten in the way that Rescan wants.
type stream struct {
	t      *testing.T
	rnd    *rand.Rand
	table  *keyed.Table
	keys   []string
	done   []bool
	flying map[string]uint64
	order  map[string][]uint64 // what was done, by key
	at     int                 // how many were offered
}

// rescan looks for some of what a Table asks for.
func (s *stream) rescan() {
	scan, ok := s.table.Rescan()
	if !ok {
		return
	}
	to := min(scan.To, scan.From+uint64(s.rnd.IntN(50)))
	for sequence := scan.From; sequence <= to; sequence++ {
		if s.table.Hash([]byte(s.keys[sequence-1])) == scan.Hash && !s.done[sequence-1] && !s.table.Found(scan.Hash, sequence) {
			to = sequence - 1
		}
		if s.rnd.IntN(4) == 0 {
			s.work() // the Table is used in between
		}
	}
	s.table.Scanned(scan.Hash, to)
}

// work takes or ends something.
func (s *stream) work() {
	if sequence := take(s.t, s.table); sequence != 0 {
		key := s.keys[sequence-1]
		if other := s.flying[key]; other != 0 {
			s.t.Fatalf("key %s: %d is taken while %d is in flight", key, sequence, other)
		}
		s.flying[key] = sequence
	}
	for key, sequence := range s.flying { // in any order
		if s.rnd.IntN(3) == 0 {
			s.table.Back(sequence)
			s.table.Take(sequence)
		}
		if s.rnd.IntN(3) == 0 {
			if !s.table.Done(sequence) {
				s.t.Fatalf("message %d is not done", sequence)
			}
			s.done[sequence-1] = true
			s.order[key] = append(s.order[key], sequence)
			delete(s.flying, key)
		}
	}
}

// TestOverflow: with limits that are far too small every message is delivered once, in the order of its key.
func TestOverflow(t *testing.T) {
	for seed := range uint64(20) {
		const messages = 600
		rnd := rand.New(rand.NewPCG(seed, 3))
		config := keyed.Config{PerKeyMax: 1 + rnd.IntN(5), WaitingMax: 2 + rnd.IntN(20)}
		s := &stream{t: t, rnd: rnd, table: keyed.New(config), flying: map[string]uint64{}, order: map[string][]uint64{}, done: make([]bool, messages)}
		want := map[string][]uint64{}
		for i := range messages {
			key := fmt.Sprint(min(rnd.IntN(10), rnd.IntN(10), rnd.IntN(10)))
			s.keys = append(s.keys, key)
			want[key] = append(want[key], uint64(i+1))
		}
		most := 0
		for round := 0; ; round++ {
			if round > 200_000 {
				t.Fatalf("seed %d: no end; %+v", seed, s.table.Counts())
			}
			if s.at < messages && !s.table.Full() {
				s.at++
				s.table.Offer(uint64(s.at), []byte(s.keys[s.at-1]))
			}
			s.work()
			s.rescan()
			most = max(most, s.table.Counts().Waiting)
			if c := s.table.Counts(); s.at == messages && c.Keys == 0 && len(s.flying) == 0 {
				break
			}
		}
		for key := range want {
			if !slices.Equal(s.order[key], want[key]) {
				t.Fatalf("seed %d, %+v: key %s was done in the order\n%v, want\n%v", seed, config, key, s.order[key], want[key])
			}
		}
		if c := s.table.Counts(); c != (keyed.Counts{}) {
			t.Errorf("seed %d: %+v is left", seed, c)
		}
		if limit := config.WaitingMax + 10; most > limit { // one for each key that is looked for
			t.Errorf("seed %d: %d messages waited, want at most %d", seed, most, limit)
		}
	}
}

func TestRescan(t *testing.T) {
	table := keyed.New(keyed.Config{PerKeyMax: 2})
	hash := table.Hash([]byte("a"))
	for sequence := uint64(1); sequence <= 9; sequence++ {
		table.Offer(sequence, []byte("a"))
	}
	if hold, _ := table.Holder(hash); hold != (keyed.Hold{Hash: hash, Sequence: 1, State: keyed.Ready, Behind: 2, More: true}) {
		t.Errorf("holder %+v", hold)
	}
	if _, ok := table.Rescan(); ok {
		t.Error("a rescan is wanted while messages are listed")
	}
	for range 3 {
		table.Done(next(table))
	}
	if hold, _ := table.Holder(hash); hold != (keyed.Hold{Hash: hash, State: keyed.Unlisted, More: true}) {
		t.Errorf("holder after the listed ones %+v", hold)
	}
	want := func(step string, scan keyed.Scan, ready uint64) {
		t.Helper()
		if got, _ := table.Rescan(); got != scan || next(table) != ready {
			t.Errorf("%s: rescan %+v, next %d, want %+v, %d", step, got, next(table), scan, ready)
		}
	}
	want("at first", keyed.Scan{Hash: hash, From: 4, To: 9}, 0)
	for step, got := range map[string]bool{
		"before":  table.Found(hash, 3),
		"behind":  table.Found(hash, 10),
		"another": table.Found(table.Hash([]byte("b")), 5),
	} {
		if got {
			t.Errorf("%s: found, want that it is refused", step)
		}
	}
	table.Scanned(hash, 3)
	table.Scanned(table.Hash([]byte("b")), 9)
	want("nothing scanned", keyed.Scan{Hash: hash, From: 4, To: 9}, 0)
	table.Scanned(hash, 5)
	want("two are gone", keyed.Scan{Hash: hash, From: 6, To: 9}, 0)
	if !table.Found(hash, 6) || !table.Found(hash, 7) || !table.Found(hash, 8) || table.Found(hash, 9) {
		t.Error("found: want room for three")
	}
	table.Scanned(hash, 8)
	want("found", keyed.Scan{}, 6)
	table.Offer(10, []byte("a"))
	table.Done(6)
	table.Done(7)
	table.Done(8)
	want("the rest, and what came later", keyed.Scan{Hash: hash, From: 9, To: 10}, 0)
	table.Scanned(hash, 10)
	want("all are gone", keyed.Scan{}, 0)
	if !table.Offer(11, []byte("a")) {
		t.Error("the key is not free again")
	}
}

// TestRescanFair: a key of which nothing was found yet lets the others go first.
func TestRescanFair(t *testing.T) {
	table := keyed.New(keyed.Config{PerKeyMax: 1})
	for sequence := uint64(1); sequence <= 8; sequence++ {
		table.Offer(sequence, []byte{byte(sequence % 2)})
	}
	for sequence, ok := table.Next(); ok; sequence, ok = table.Next() {
		table.Done(sequence)
	}
	first, _ := table.Rescan()
	table.Scanned(first.Hash, first.From)
	if second, ok := table.Rescan(); !ok || second.Hash == first.Hash {
		t.Errorf("rescan %+v again, want the other key", second)
	}
}

// TestAlone: messages without a key wait for nothing, and nothing waits for them.
func TestAlone(t *testing.T) {
	table := keyed.New(keyed.Config{})
	for sequence := uint64(1); sequence <= 3; sequence++ {
		if !table.OfferAlone(sequence) || !table.Take(sequence) {
			t.Fatalf("message %d waits", sequence)
		}
	}
	if _, known := table.State(9); known {
		t.Error("a message that was not offered has a state")
	}
	if state, known := table.State(2); !known || state != keyed.InFlight {
		t.Errorf("message 2 is %v, %v, want in flight", state, known)
	}
	if table.Done(2); table.Counts().Keys != 2 {
		t.Errorf("%+v, want two keys", table.Counts())
	}
}

func TestFull(t *testing.T) {
	table := keyed.New(keyed.Config{WaitingMax: 3})
	for sequence := uint64(1); sequence <= 3; sequence++ {
		if table.Full() {
			t.Fatalf("full before message %d", sequence)
		}
		table.Offer(sequence, []byte{byte(sequence / 2)})
	}
	if !table.Full() {
		t.Error("not full with three messages")
	}
	table.Take(1)
	if table.Full() {
		t.Error("full with two that wait and one in flight")
	}
	if table.Offer(4, []byte{0}); !table.Full() {
		t.Error("not full again")
	}
	if table.Offer(5, []byte{9}); !table.Full() || table.Counts().Waiting != 4 {
		t.Error("what is offered all the same is lost")
	}
}

// TestFoundFull: a full Table lists no more, but for one message of a key that has nothing else.
func TestFoundFull(t *testing.T) {
	table := keyed.New(keyed.Config{PerKeyMax: 3, WaitingMax: 2})
	hash := table.Hash([]byte("a"))
	for sequence := uint64(1); sequence <= 8; sequence++ {
		table.Offer(sequence, []byte("a"))
	}
	for range 4 {
		table.Done(next(table))
	}
	table.Offer(9, []byte("b"))
	table.Offer(10, []byte("c"))
	if first, second := table.Found(hash, 5), table.Found(hash, 6); !first || second {
		t.Errorf("found in a full table: %v, %v, want the first one only", first, second)
	}
	table.Done(9)
	table.Done(10)
	if !table.Found(hash, 6) || table.Found(hash, 7) {
		t.Error("found with room for one: want one")
	}
}

func TestStateString(t *testing.T) {
	for state, want := range map[keyed.State]string{keyed.Ready: "ready", keyed.InFlight: "in flight", keyed.Returned: "returned", keyed.Blocked: "blocked", keyed.Unlisted: "unlisted"} {
		if got := state.String(); got != want {
			t.Errorf("state %d is %q, want %q", state, got, want)
		}
	}
}

// heap returns how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// fill offers and takes one message of each of many keys.
func fill(table *keyed.Table, keys int) {
	var key [8]byte
	for i := range keys {
		binary.LittleEndian.PutUint64(key[:], uint64(i))
		table.Offer(uint64(i+1), key[:])
		table.Take(uint64(i + 1))
	}
}

// TestMemory: what a key in flight takes, and that it is given back.
func TestMemory(t *testing.T) {
	const keys, bytesMax = 100_000, 100
	before := heap()
	table := keyed.New(keyed.Config{})
	fill(table, keys)
	if each := (heap() - before) / keys; each > bytesMax {
		t.Errorf("a key takes %d bytes, want at most %d", each, bytesMax)
	}
	for sequence := range uint64(keys) {
		table.Done(sequence + 1)
	}
	if left := int64(heap()) - int64(before); left > keys {
		t.Errorf("%d bytes are left of %d keys", left, keys)
	}
	runtime.KeepAlive(table)
}

func BenchmarkMemory(b *testing.B) {
	const keys = 1_000_000
	for b.Loop() {
		before := heap()
		table := keyed.New(keyed.Config{})
		fill(table, keys)
		b.ReportMetric(float64(heap()-before)/keys, "B/key")
		runtime.KeepAlive(table)
	}
}

// BenchmarkTable is the way of one message: offered, taken, done, with many keys in flight.
func BenchmarkTable(b *testing.B) {
	for _, keys := range []int{100, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			table := keyed.New(keyed.Config{})
			fill(table, keys)
			var key [8]byte
			sequence := uint64(keys)
			b.ReportAllocs()
			for b.Loop() {
				sequence++
				binary.LittleEndian.PutUint64(key[:], (sequence-1)%uint64(keys))
				table.Offer(sequence, key[:])       // waits
				table.Done(sequence - uint64(keys)) // makes it ready
				if !table.Take(sequence) {
					b.Fatal("not ready")
				}
			}
		})
	}
}

func ExampleTable() {
	table := keyed.New(keyed.Config{})
	for i, key := range []string{"order-1", "order-1", "order-2"} {
		table.Offer(uint64(i+1), []byte(key))
	}
	deliver := func() {
		for sequence, ok := table.Next(); ok; sequence, ok = table.Next() {
			table.Take(sequence)
			fmt.Println("deliver", sequence)
		}
	}
	deliver()
	fmt.Println("1 is acknowledged")
	table.Done(1)
	deliver()
	// Output:
	// deliver 1
	// deliver 3
	// 1 is acknowledged
	// deliver 2
}
