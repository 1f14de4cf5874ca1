package wire_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"runnel/server/wire"
)

// canonical writes a frame as an ordinary client would.
func canonical(f *wire.Frame) []byte {
	line := []byte(f.Verb.String())
	add := func(args ...[]byte) {
		for _, a := range args {
			line = append(append(line, ' '), a...)
		}
	}
	switch f.Verb {
	case wire.VerbPub, wire.VerbHPub:
		add(f.Subject, f.Tail)
		return line
	case wire.VerbSub:
		add(f.Subject)
		if f.Queue != nil {
			add(f.Queue)
		}
		add(f.SID)
	case wire.VerbUnsub:
		add(f.SID, strconv.AppendInt(nil, int64(f.Max), 10))
	default:
		add(f.Args)
	}
	return append(line, "\r\n"...)
}

// inChunks parses input that comes in pieces of random sizes.
func inChunks(t *testing.T, input []byte, l wire.Limits, random *rand.Rand) (found []string, err error) {
	p := wire.Parser{Limits: l}
	var have []byte
	need := 0 // as last told for the frame that have begins with
	for len(input) > 0 {
		n := min(len(input), 1+random.IntN(9))
		have = append(have, input[:n]...)
		input = input[n:]
		for len(have) > 0 {
			var f wire.Frame
			n, err := p.Next(have, &f)
			if err != nil {
				return found, err
			}
			if n == 0 {
				if got := p.Need(); got != 0 && (got <= len(have) || need != 0 && got != need) {
					t.Fatalf("need %d with %d bytes there, before it was %d", got, len(have), need)
				}
				need = p.Need()
				if most := len("HPUB ") + l.ControlLineBytes + l.PayloadBytes + len("\r\n\r\n"); need > most || len(have) > most {
					t.Fatalf("need %d with %d bytes there, limits allow no frame above %d", need, len(have), most)
				}
				break
			}
			if need != 0 && n != need {
				t.Fatalf("frame of %d bytes, needed %d", n, need)
			}
			need = 0
			found = append(found, describe(&f))
			have = have[n:]
		}
	}
	return found, nil
}

func FuzzParser(f *testing.F) {
	for _, s := range []string{
		"CONNECT {\"verbose\":false}\r\nPING\r\nSUB a.* q 1\r\nUNSUB 1 5\r\nPUB a.b r 5\r\nhello\r\nHPUB a r 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPONG\r\n",
		"pub\ta 002\nhi\r\nhpub a 0 2\r\nhi\r\n+OK\r\n-ERR 'x'\r\nINFO {}\r\nsub  a  1 \nunsub 1\n",
		"PUB a 18446744073709551617\r\n", "PUB a -1\r\n", "HPUB a 20 10\r\n", "PUB a 2\r\nhiX\r\n", "MSG a 1 0\r\n\r\n",
		"PUB a 5" + strings.Repeat(" ", 64) + "\r\nhello\r\n", "PING" + strings.Repeat(" ", 70) + "\r\n", "PUB " + strings.Repeat("a", 61) + " 0\n\r\n",
		"PUB a 1 1\r\nx\r\nHPUB a 1 1 1\r\nx\r\n", "PUB a\rb 1\r\nx\r\n",
	} {
		f.Add([]byte(s), uint64(1))
	}
	l := wire.Limits{ControlLineBytes: 64, PayloadBytes: 100}
	f.Fuzz(func(t *testing.T, input []byte, seed uint64) {
		whole, _, wholeErr := frames(string(input), l)
		pieces, piecesErr := inChunks(t, input, l, rand.New(rand.NewPCG(seed, 1)))
		if !slices.Equal(whole, pieces) || wholeErr != piecesErr {
			t.Fatalf("in one piece:\n%s\n%v\nin chunks:\n%s\n%v",
				strings.Join(whole, "\n"), wholeErr, strings.Join(pieces, "\n"), piecesErr)
		}
		p := wire.Parser{Limits: l}
		for b := input; len(b) > 0; {
			var f wire.Frame
			n, err := p.Next(b, &f)
			if n == 0 || err != nil {
				break
			}
			b = b[n:]
			checkCanonical(t, &f, l)
		}
	})
}

// checkCanonical parses what a well-behaved client would have sent instead: it must mean the same.
func checkCanonical(t *testing.T, f *wire.Frame, l wire.Limits) {
	t.Helper()
	l.ControlLineBytes += len(" 0") // UNSUB without a maximum gets one
	text := canonical(f)
	got, rest, err := frames(string(text), l)
	want := describe(f)
	if err != nil || rest != 0 || len(got) != 1 || got[0] != want {
		t.Fatalf("%q in canonical form is %q, %v\nwant %q", text, got, err, want)
	}
	if f.Verb == wire.VerbPub && f.HeaderBytes != 0 || f.Verb == wire.VerbHPub && f.HeaderBytes == 0 {
		t.Fatalf("%v with a header block of %d bytes", f.Verb, f.HeaderBytes)
	}
	if f.Verb == wire.VerbPub || f.Verb == wire.VerbHPub {
		if bytes.ContainsAny(f.Subject, " \t\r\n") || len(f.Subject) == 0 || f.Reply != nil && len(f.Reply) == 0 {
			t.Fatalf("subject %q, reply %q", f.Subject, f.Reply)
		}
	}
}

func FuzzConnect(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, `{"verbose":false,"pedantic":false,"echo":false,"headers":true,"no_responders":true,"protocol":1}`,
		`{"user":"u","pass":"p","auth_token":"t","nkey":"k","sig":"s","jwt":"j"}`, `{"pass":["x"]}`, `{"protocol":1e5}`, `[`, `{"a":`, "{\"user\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		const secret = "hunter2"
		c, err := wire.ParseConnect(args)
		if err != nil {
			if bytes.Contains(args, []byte(secret)) && strings.Contains(err.Error(), secret) {
				t.Fatalf("the error shows what was sent: %v", err)
			}
			return
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := wire.ParseConnect(text)
		if err != nil || again != c {
			t.Fatalf("%s comes back as %+v, %v", text, again, err)
		}
	})
}
