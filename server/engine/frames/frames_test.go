package frames_test

import (
	"bytes"
	"errors"
	"testing"

	"runnel/server/engine/frames"
)

// message is a whole message frame.
func message(h frames.Head, reply, header, payload string) []byte {
	tail := []byte(nil)
	if reply != "" {
		tail = append(append(tail, reply...), ' ')
	}
	if header != "" {
		tail = append(number(tail, len(header)), ' ')
	}
	tail = append(number(tail, len(header)+len(payload)), "\r\n"...)
	tail = append(append(append(tail, header...), payload...), "\r\n"...)
	h.ReplyBytes, h.HeaderBytes, h.BodyBytes, h.TailBytes = len(reply), len(header), len(header)+len(payload), len(tail)
	return append(h.Append(nil), tail...)
}

func number(b []byte, n int) []byte {
	if n >= 10 {
		b = number(b, n/10)
	}
	return append(b, byte('0'+n%10))
}

func parse(t *testing.T, b []byte) frames.Frame {
	t.Helper()
	var f frames.Frame
	for i := range b {
		if n, need, err := frames.Next(b[:i], &f); n != 0 || err != nil || need != 0 && need != len(b) {
			t.Fatalf("of %d bytes out of %d: %d, %d, %v", i, len(b), n, need, err)
		}
	}
	if n, _, err := frames.Next(b, &f); n != len(b) || err != nil {
		t.Fatalf("parsed %d bytes of %d, %v", n, len(b), err)
	}
	return f
}

func split(queues []byte) (all [][]byte) {
	for {
		name, others, ok := frames.CutQueue(queues)
		if !ok {
			return all
		}
		all, queues = append(all, name), others
	}
}

func TestSmallFrames(t *testing.T) {
	if f := parse(t, frames.AppendAccount(nil, 7, "A")); f.Kind != frames.Account || f.Number != 7 || string(f.Name) != "A" {
		t.Errorf("account: %+v", f)
	}
	for _, queue := range []string{"", "q"} {
		f := parse(t, frames.AppendInterest(nil, 8, "a.>", queue, 3))
		if f.Kind != frames.Interest || f.Number != 8 || string(f.Subject) != "a.>" || string(f.Queue) != queue || f.Weight != 3 {
			t.Errorf("interest: %+v", f)
		}
	}
	for _, k := range []frames.Kind{frames.Forget, frames.Ask} {
		if f := parse(t, frames.AppendNumber(nil, k, 9)); f.Kind != k || f.Number != 9 {
			t.Errorf("%v: %+v", k, f)
		}
	}
	if f := parse(t, []byte{200, 0, 0, 0, 2, 1, 2}); f.Kind != 200 {
		t.Errorf("of a later version: %+v", f)
	}
}

func TestMessage(t *testing.T) {
	queues, _ := frames.AppendQueue(nil, "one")
	queues, _ = frames.AppendQueue(queues, "")
	for _, tt := range []struct {
		name                   string
		head                   frames.Head
		reply, header, payload string
	}{
		{"plain", frames.Head{Number: 1, Subject: []byte("a")}, "", "", "x"},
		{"empty", frames.Head{Number: 1, Subject: []byte("a")}, "", "", ""},
		{"all", frames.Head{Number: 1 << 31, Flags: frames.Service, Subject: []byte("a.b"), Told: []byte("t"), Queues: queues}, "r", "NATS/1.0\r\n\r\n", "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := parse(t, message(tt.head, tt.reply, tt.header, tt.payload))
			body := f.Tail[len(f.Tail)-2-f.BodyBytes : len(f.Tail)-2]
			if f.Number != tt.head.Number || f.Flags != tt.head.Flags || !bytes.Equal(f.Subject, tt.head.Subject) ||
				!bytes.Equal(f.Told, tt.head.Told) || string(f.Reply) != tt.reply || f.HeaderBytes != len(tt.header) ||
				string(body) != tt.header+tt.payload {
				t.Errorf("%+v", f)
			}
			want := 0
			if len(tt.head.Queues) > 0 {
				want = 2
			}
			if got := split(f.Queues); len(got) != want || want > 0 && string(got[0]) != "one" {
				t.Errorf("queues %q", got)
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	whole := message(frames.Head{Number: 1, Subject: []byte("a")}, "r", "NATS/1.0\r\n\r\n", "x")
	change := func(at int, to byte) []byte {
		b := bytes.Clone(whole)
		b[at] = to
		return b
	}
	for name, b := range map[string][]byte{
		"too long":           {byte(frames.Interest), 0xff, 0, 0, 0},
		"message too long":   {byte(frames.Message), 0xff, 0, 0, 0},
		"account of nothing": {byte(frames.Account), 0, 0, 0, 0},
		"no name":            frames.AppendAccount(nil, 1, ""),
		"no subject":         frames.AppendInterest(nil, 1, "", "q", 1),
		"subject too long":   append(frames.AppendNumber(nil, frames.Interest, 1)[:4], 12, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9),
		"short message":      {byte(frames.Message), 0, 0, 0, 3, 0, 0, 0},
		"body too long":      change(33, 200),
		"header too long":    change(29, 200),
		"other size":         change(len(whole)-16-2, '7'),
		"no end":             change(len(whole)-1, 'x'),
		"reply too long":     change(25, 9),
	} {
		var f frames.Frame
		if n, need, err := frames.Next(b, &f); !errors.Is(err, frames.ErrMalformed) {
			t.Errorf("%s: %d, %d, %v", name, n, need, err)
		}
	}
	if _, ok := frames.AppendQueue(nil, string(make([]byte, 1<<16))); ok {
		t.Error("a queue group of 64 KiB is taken")
	}
	if b := frames.AppendInterest(nil, 1, string(make([]byte, 1<<20)), "", 1); len(b) != 0 {
		t.Error("a subject of 1 MiB is taken")
	}
}

func FuzzNext(f *testing.F) {
	queues, _ := frames.AppendQueue(nil, "q")
	f.Add(message(frames.Head{Number: 1, Subject: []byte("a"), Queues: queues}, "r", "NATS/1.0\r\n\r\n", "x"))
	f.Add(message(frames.Head{Number: 1, Subject: []byte("a"), Told: []byte("b")}, "", "", "x"))
	f.Add(frames.AppendInterest(frames.AppendAccount(nil, 1, "A"), 1, "a.*", "q", 2))
	f.Add(frames.AppendNumber(frames.AppendNumber(nil, frames.Ask, 1), frames.Forget, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		var one, same frames.Frame
		n, need, err := frames.Next(b, &one)
		switch {
		case err != nil:
			return
		case n == 0:
			if need != 0 && need <= len(b) {
				t.Fatalf("needs %d of %d bytes", need, len(b))
			}
			return
		}
		var again []byte
		switch one.Kind {
		case frames.Account:
			again = frames.AppendAccount(nil, one.Number, string(one.Name))
		case frames.Interest:
			again = frames.AppendInterest(nil, one.Number, string(one.Subject), string(one.Queue), int(one.Weight))
		case frames.Message:
			split(one.Queues)
			h := frames.Head{
				Number: one.Number, Flags: one.Flags, Queues: one.Queues, Subject: one.Subject, Told: one.Told,
				ReplyBytes: len(one.Reply), HeaderBytes: one.HeaderBytes, BodyBytes: one.BodyBytes, TailBytes: len(one.Tail),
			}
			again = append(h.Append(nil), one.Tail...)
		default:
			return
		}
		if _, _, err := frames.Next(again, &same); err != nil || !bytes.Equal(again, b[:n]) {
			t.Fatalf("%q came back as %q, %v", b[:n], again, err)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	whole := message(frames.Head{Number: 1, Subject: []byte("some.subject")}, "", "", "0123456789abcdef")
	b.ReportAllocs()
	var f frames.Frame
	for b.Loop() {
		if _, _, err := frames.Next(whole, &f); err != nil {
			b.Fatal(err)
		}
	}
}
