package replies_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runnel/server/engine/replies"
	"runnel/subjects"
)

type (
	table   = replies.Table[string, int]
	request = replies.Request[string, int]
)

// epoch is when the tests begin.
var epoch = time.Unix(1_000_000, 0)

func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

func newTable(most int) *table {
	return replies.New[string, int](replies.Bounds{Requests: most, Bytes: 1 << 20})
}

// ask is a request of account A to B with the patience of ten seconds.
func ask(value int) request {
	return request{From: "A", To: "B", Value: value, Patience: 10 * time.Second}
}

// open opens r at the beginning and expects that nothing has to go for it.
func open(t *testing.T, x *table, r request) []byte {
	t.Helper()
	subject, evicted := x.Open(nil, r, epoch)
	if len(evicted) > 0 {
		t.Fatalf("evicted %v", evicted)
	}
	return subject
}

func TestReplySubject(t *testing.T) {
	x := newTable(10)
	measured := ask(2)
	measured.Measured = true
	tests := []struct {
		name string
		r    request
		want []int // lengths of the tokens
	}{{"plain", ask(1), []int{3, 6, 6, 8}}, {"measured", measured, []int{3, 6, 6, 8, 1}}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			subject := string(open(t, x, tt.r))
			if !subjects.ValidLiteral(subject) || !strings.HasPrefix(subject, replies.Prefix) {
				t.Errorf("%q is no reply subject", subject)
			}
			var got []int
			for token := range subjects.Tokens(subject) {
				got = append(got, len(token))
			}
			if len(got) != len(tt.want) {
				t.Fatalf("%q has tokens of %v bytes, want %v", subject, got, tt.want)
			}
			for i, n := range tt.want {
				if got[i] != n {
					t.Errorf("%q has tokens of %v bytes, want %v", subject, got, tt.want)
				}
			}
		})
	}
	one, other := open(t, x, ask(1)), open(t, x, request{From: "C", To: "B", Patience: time.Second})
	cut := len(one) - len("12345678")
	if string(one[:cut]) == string(other[:cut]) || string(one[:10]) != string(other[:10]) {
		t.Errorf("%q and %q: the second token is of the account, the first of the table", one, other)
	}
	if got, _ := x.Open([]byte("before "), ask(1), epoch); !strings.HasPrefix(string(got), "before _R_.") {
		t.Errorf("Open did not append: %q", got)
	}
}

func TestAnswers(t *testing.T) {
	type answer struct {
		at   string
		last bool
		when int // seconds
		want bool
	}
	lasting := ask(7)
	lasting.Lasting = true
	tests := []struct {
		name    string
		r       request
		answers []answer
	}{
		{"one", ask(7), []answer{{"B", false, 1, true}, {"B", false, 1, false}}},
		{"in the last moment", ask(7), []answer{{"B", false, 10, true}}},
		{"too late", ask(7), []answer{{"B", false, 11, false}}},
		{"of somebody else", ask(7), []answer{{"A", false, 1, false}, {"C", false, 1, false}, {"B", false, 1, true}}},
		{"many", lasting, []answer{{"B", false, 9, true}, {"B", false, 18, true}, {"B", true, 19, true}, {"B", false, 19, false}}},
		{"many, then patience ends", lasting, []answer{{"B", false, 9, true}, {"B", false, 20, false}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := newTable(10)
			subject := open(t, x, tt.r)
			for i, a := range tt.answers {
				if _, ok := x.Look(a.at, subject, at(a.when)); ok != a.want {
					t.Errorf("answer %d: Look = %v, want %v", i+1, ok, a.want)
				}
				r, ok := x.Answer(a.at, subject, a.last, at(a.when))
				if ok != a.want || ok && r.Value != 7 {
					t.Errorf("answer %d: got %d, %v, want 7, %v", i+1, r.Value, ok, a.want)
				}
			}
		})
	}
}

func TestStrangeSubjects(t *testing.T) {
	x := newTable(10)
	subject := string(open(t, x, ask(1)))
	foreign := string(open(t, newTable(10), ask(1)))
	for _, s := range []string{
		"", "_R_", "_R_.", subject[:len(subject)-1], subject + "x", subject + ".T", subject + ".T.T", foreign,
		strings.Replace(subject, "_R_", "_X_", 1), subject[:len(subject)-8] + "........",
	} {
		if r, ok := x.Answer("B", []byte(s), false, epoch); ok {
			t.Errorf("Answer(%q) = %v, want none", s, r)
		}
		if _, ok := x.Look("B", []byte(s), epoch); ok {
			t.Errorf("Look(%q) found something", s)
		}
	}
}

func TestClose(t *testing.T) {
	x := newTable(10)
	subject := open(t, x, ask(1))
	if r, ok := x.Close(subject); !ok || r.Value != 1 {
		t.Fatalf("Close = %v, %v, want the request", r, ok)
	}
	if _, ok := x.Close(subject); ok {
		t.Error("closed twice")
	}
	if _, ok := x.Answer("B", subject, false, epoch); ok || x.Len("A") != 0 {
		t.Error("a closed request is still there")
	}
}

func TestBounds(t *testing.T) {
	x := newTable(3)
	var first []byte
	for i := range 3 {
		r := ask(i)
		r.Patience += time.Duration(-i) * time.Second // so the last one expires first
		subject := open(t, x, r)
		if i == 0 {
			first = subject
		}
	}
	open(t, x, request{From: "C", To: "B", Value: 9, Patience: time.Second}) // another account has bounds of its own
	if _, evicted := x.Open(nil, ask(3), epoch); len(evicted) != 1 || evicted[0].Value != 2 {
		t.Errorf("evicted %v, want the request that would expire next", evicted)
	}
	if r, ok := x.Answer("B", first, false, epoch); !ok || r.Value != 0 {
		t.Error("one that stays got no answer")
	}
	if x.Len("A") != 2 || x.Len("C") != 1 {
		t.Errorf("%d and %d wait, want 2 and 1", x.Len("A"), x.Len("C"))
	}

	large := ask(5)
	large.Bytes = 1<<20 - 2*replies.Overhead
	if _, evicted := x.Open(nil, large, epoch); len(evicted) != 1 {
		t.Errorf("evicted %v for one that is large, want one", evicted)
	}
	large.Bytes = 2 << 20
	if _, evicted := x.Open(nil, large, epoch); len(evicted) != 2 || x.Len("A") != 1 {
		t.Errorf("evicted %v for one that is too large, want all that was there", evicted)
	}
}

func TestExpire(t *testing.T) {
	x := newTable(100)
	for i := range 20 {
		r := ask(i)
		r.From = string(rune('A' + i%3))
		r.Patience = time.Duration((i*7)%20+1) * time.Second
		open(t, x, r)
	}
	left := 20
	for now := range 22 {
		for _, r := range x.Expire(at(now)) {
			left--
			if want := int(r.Patience/time.Second) + 1; want != now {
				t.Errorf("request %d expired at %d, want %d", r.Value, now, want)
			}
		}
	}
	if left != 0 || x.Len("A")+x.Len("B")+x.Len("C") != 0 {
		t.Errorf("%d requests are left", left)
	}
}

// TestRandomSequences compares a table with a plain list.
func TestRandomSequences(t *testing.T) {
	type item struct {
		request
		subject  string
		deadline time.Time
	}
	random := rand.New(rand.NewPCG(1, 2))
	x := newTable(8)
	var list []*item
	find := func(match func(*item) bool) *item {
		for _, i := range list {
			if match(i) {
				return i
			}
		}
		return nil
	}
	drop := func(gone *item) {
		for i := range list {
			if list[i] == gone {
				list = append(list[:i], list[i+1:]...)
				return
			}
		}
	}
	now := epoch
	for step := range 20_000 {
		now = now.Add(time.Duration(random.IntN(100)+1) * time.Millisecond)
		switch random.IntN(4) {
		case 0, 1:
			r := request{
				From: string(rune('A' + random.IntN(4))), To: "X", Value: step, Lasting: random.IntN(2) == 0,
				Patience: time.Duration(random.IntN(3000)) * time.Millisecond,
			}
			subject, evicted := x.Open(nil, r, now)
			for _, e := range evicted {
				drop(find(func(i *item) bool { return i.Value == e.Value }))
			}
			list = append(list, &item{r, string(subject), now.Add(r.Patience)})
		case 2:
			if len(list) == 0 {
				continue
			}
			i, last := list[random.IntN(len(list))], random.IntN(4) == 0
			r, ok := x.Answer("X", []byte(i.subject), last, now)
			if want := !i.deadline.Before(now); ok != want || ok && r.Value != i.Value {
				t.Fatalf("step %d: Answer = %v, %v, want %d, %v", step, r, ok, i.Value, want)
			}
			switch {
			case ok && i.Lasting && !last:
				i.deadline = now.Add(i.Patience)
			case ok:
				drop(i)
			}
		case 3:
			for _, e := range x.Expire(now) {
				i := find(func(i *item) bool { return i.Value == e.Value })
				if i == nil || !i.deadline.Before(now) {
					t.Fatalf("step %d: %d expired too early", step, e.Value)
				}
				drop(i)
			}
			if i := find(func(i *item) bool { return i.deadline.Before(now) }); i != nil {
				t.Fatalf("step %d: %d did not expire", step, i.Value)
			}
		}
		total := 0
		for _, a := range []string{"A", "B", "C", "D"} {
			if n := x.Len(a); n > 8 {
				t.Fatalf("step %d: %d requests of one account", step, n)
			}
			total += x.Len(a)
		}
		if total != len(list) {
			t.Fatalf("step %d: %d requests wait, want %d", step, total, len(list))
		}
	}
}

// TestOneAnswerOnly: of many who answer at the same time one does.
func TestOneAnswerOnly(t *testing.T) {
	x := newTable(1000)
	for range 100 {
		subject := open(t, x, ask(1))
		var answered atomic.Int32
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if _, ok := x.Answer("B", subject, false, epoch); ok {
					answered.Add(1)
				}
				x.Expire(epoch)
			})
		}
		group.Wait()
		if answered.Load() != 1 {
			t.Fatalf("%d answers, want 1", answered.Load())
		}
	}
}

func BenchmarkOpenAnswer(b *testing.B) {
	x := newTable(1 << 16)
	b.ReportAllocs()
	var reply []byte
	for b.Loop() {
		reply, _ = x.Open(reply[:0], ask(1), epoch)
		if _, ok := x.Answer("B", reply, false, epoch); !ok {
			b.Fatal("no answer")
		}
	}
}

// FuzzAnswer: whatever somebody publishes on, only what was opened is found.
func FuzzAnswer(f *testing.F) {
	x := newTable(10)
	subject, _ := x.Open(nil, ask(1), epoch)
	for _, s := range []string{"", "_R_.", string(subject) + ".T", string(subject[:len(subject)-3]), "_R_.aaaaaa.bbbbbb.cccccccc"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		if r, ok := x.Look("B", s, epoch); ok && string(s[:len(subject)]) != string(subject) {
			t.Errorf("Look(%q) = %v", s, r)
		}
		x.Answer("B", s, true, at(100))
	})
}
