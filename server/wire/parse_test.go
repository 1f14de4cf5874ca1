package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"runnel/server/wire"
)

// limits are those of the tests: small, so that lines at the limit stay readable.
var limits = wire.Limits{ControlLineBytes: 40, PayloadBytes: 32}

// describe shows all that a frame says.
func describe(f *wire.Frame) string {
	switch f.Verb {
	case wire.VerbPub, wire.VerbHPub:
		return fmt.Sprintf("%v %q reply %s header %q payload %q tail %q",
			f.Verb, f.Subject, quoted(f.Reply), f.Header(), f.Payload(), f.Tail)
	case wire.VerbSub:
		return fmt.Sprintf("SUB %q queue %s sid %q", f.Subject, quoted(f.Queue), f.SID)
	case wire.VerbUnsub:
		return fmt.Sprintf("UNSUB %q max %d", f.SID, f.Max)
	default:
		return fmt.Sprintf("%v %q", f.Verb, f.Args)
	}
}

// quoted tells an absent argument from an empty one.
func quoted(b []byte) string {
	if b == nil {
		return "none"
	}
	return fmt.Sprintf("%q", b)
}

// frames parses all of input, which comes in one piece.
func frames(input string, l wire.Limits) (found []string, rest int, err error) {
	p := wire.Parser{Limits: l}
	b := []byte(input)
	for len(b) > 0 {
		var f wire.Frame
		n, err := p.Next(b, &f)
		if err != nil || n == 0 {
			return found, len(b), err
		}
		found = append(found, describe(&f))
		b = b[n:]
	}
	return found, 0, nil
}

func TestFrames(t *testing.T) {
	const hdr = "NATS/1.0\r\n\r\n" // 12 bytes
	tests := []struct {
		name, in, want string
	}{
		{"PUB", "PUB a.b 5\r\nhello\r\n", `PUB "a.b" reply none header "" payload "hello" tail "5\r\nhello\r\n"`},
		{"PUB empty", "PUB a 0\r\n\r\n", `PUB "a" reply none header "" payload "" tail "0\r\n\r\n"`},
		{"PUB reply", "PUB a _R.x 2\r\nhi\r\n", `PUB "a" reply "_R.x" header "" payload "hi" tail "_R.x 2\r\nhi\r\n"`},
		{"PUB reply of digits", "PUB a 12 2\r\nhi\r\n", `PUB "a" reply "12" header "" payload "hi" tail "12 2\r\nhi\r\n"`},
		{"PUB reply of many digits", "PUB a 1234567890123 2\r\nhi\r\n", `PUB "a" reply "1234567890123" header "" payload "hi" tail "1234567890123 2\r\nhi\r\n"`},
		{"PUB reply that begins with digits", "PUB a 1x 2\r\nhi\r\n", `PUB "a" reply "1x" header "" payload "hi" tail "1x 2\r\nhi\r\n"`},
		{"PUB reply that begins with zero", "PUB a 00 2\r\nhi\r\n", `PUB "a" reply "00" header "" payload "hi" tail "00 2\r\nhi\r\n"`},
		{"PUB lower case", "pub a 2\r\nhi\r\n", `PUB "a" reply none header "" payload "hi" tail "2\r\nhi\r\n"`},
		{"PUB mixed case", "pUb a 2\r\nhi\r\n", `PUB "a" reply none header "" payload "hi" tail "2\r\nhi\r\n"`},
		{"PUB tabs", "PUB\ta\tr\t2\r\nhi\r\n", `PUB "a" reply "r" header "" payload "hi" tail "r 2\r\nhi\r\n"`},
		{"PUB tab before the size", "PUB a\t2\r\nhi\r\n", `PUB "a" reply none header "" payload "hi" tail "2\r\nhi\r\n"`},
		{"PUB runs of blanks", "PUB   a  r   2  \r\nhi\r\n", `PUB "a" reply "r" header "" payload "hi" tail "r 2\r\nhi\r\n"`},
		{"PUB bare LF", "PUB a 2\nhi\r\n", `PUB "a" reply none header "" payload "hi" tail "2\r\nhi\r\n"`},
		{"PUB bare LF reply", "PUB a r 2\nhi\r\n", `PUB "a" reply "r" header "" payload "hi" tail "r 2\r\nhi\r\n"`},
		{"PUB leading zeros", "PUB a 00000000000002\r\nhi\r\n", `PUB "a" reply none header "" payload "hi" tail "2\r\nhi\r\n"`},
		{"PUB zeros only", "PUB a 000\r\n\r\n", `PUB "a" reply none header "" payload "" tail "0\r\n\r\n"`},
		{"PUB payload of line ends", "PUB a 4\r\n\r\n\r\n\r\n", `PUB "a" reply none header "" payload "\r\n\r\n" tail "4\r\n\r\n\r\n\r\n"`},
		{"PUB raw bytes in the subject", "PUB \xff\xc3\xa9.\x7f 0\r\n\r\n", `PUB "\xffé.\x7f" reply none header "" payload "" tail "0\r\n\r\n"`},
		{"PUB subject that no one can match", "PUB a..b 0\r\n\r\n", `PUB "a..b" reply none header "" payload "" tail "0\r\n\r\n"`},
		{"PUB subject of wildcards", "PUB *.> 0\r\n\r\n", `PUB "*.>" reply none header "" payload "" tail "0\r\n\r\n"`},

		{"HPUB", "HPUB a 12 14\r\n" + hdr + "hi\r\n", `HPUB "a" reply none header "NATS/1.0\r\n\r\n" payload "hi" tail "12 14\r\nNATS/1.0\r\n\r\nhi\r\n"`},
		{"HPUB reply", "HPUB a r 12 14\r\n" + hdr + "hi\r\n", `HPUB "a" reply "r" header "NATS/1.0\r\n\r\n" payload "hi" tail "r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"`},
		{"HPUB reply of digits", "HPUB a 7 12 14\r\n" + hdr + "hi\r\n", `HPUB "a" reply "7" header "NATS/1.0\r\n\r\n" payload "hi" tail "7 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"`},
		{"HPUB header only", "HPUB a 12 12\r\n" + hdr + "\r\n", `HPUB "a" reply none header "NATS/1.0\r\n\r\n" payload "" tail "12 12\r\nNATS/1.0\r\n\r\n\r\n"`},
		{"HPUB block is not looked at", "HPUB a 2 4\r\nxxhi\r\n", `HPUB "a" reply none header "xx" payload "hi" tail "2 4\r\nxxhi\r\n"`},
		{"HPUB without header block", "HPUB a 0 2\r\nhi\r\n", `PUB "a" reply none header "" payload "hi" tail "2\r\nhi\r\n"`},
		{"HPUB without header block, reply", "HPUB a r 0 2\r\nhi\r\n", `PUB "a" reply "r" header "" payload "hi" tail "r 2\r\nhi\r\n"`},
		{"HPUB of nothing", "HPUB a 0 0\r\n\r\n", `PUB "a" reply none header "" payload "" tail "0\r\n\r\n"`},
		{"HPUB lower case", "hpub a 2 4\r\nxxhi\r\n", `HPUB "a" reply none header "xx" payload "hi" tail "2 4\r\nxxhi\r\n"`},
		{"HPUB tabs and zeros", "HPUB\ta \t r\t002 0004\r\nxxhi\r\n", `HPUB "a" reply "r" header "xx" payload "hi" tail "r 2 4\r\nxxhi\r\n"`},
		{"HPUB bare LF", "HPUB a 2 4\nxxhi\r\n", `HPUB "a" reply none header "xx" payload "hi" tail "2 4\r\nxxhi\r\n"`},

		{"SUB", "SUB a.* 1\r\n", `SUB "a.*" queue none sid "1"`},
		{"SUB queue", "SUB a.> workers s-1\r\n", `SUB "a.>" queue "workers" sid "s-1"`},
		{"SUB odd", "sub \t a\t q  1 \t\n", `SUB "a" queue "q" sid "1"`},
		{"SUB subject is not looked at", "SUB a..b 1\r\n", `SUB "a..b" queue none sid "1"`},
		{"UNSUB", "UNSUB 1\r\n", `UNSUB "1" max 0`},
		{"UNSUB max", "UNSUB 1 5\r\n", `UNSUB "1" max 5`},
		{"UNSUB zero", "UNSUB 1 0\r\n", `UNSUB "1" max 0`},
		{"UNSUB huge max", "UNSUB 1 99999999999999999999\r\n", `UNSUB "1" max 1073741824`},
		{"UNSUB odd", "unsub\t1  007\n", `UNSUB "1" max 7`},
		{"CONNECT", "CONNECT {\"verbose\":false}\r\n", `CONNECT "{\"verbose\":false}"`},
		{"CONNECT with blanks", "connect \t {} \n", `CONNECT "{}"`},
		{"CONNECT of nothing", "CONNECT\r\n", `CONNECT ""`},
		{"PING", "PING\r\n", `PING ""`},
		{"PING bare LF", "ping\n", `PING ""`},
		{"PING with arguments", "PING abc\r\n", `PING "abc"`},
		{"PONG", "PONG\r\n", `PONG ""`},
		{"INFO", "INFO {}\r\n", `INFO "{}"`},
		{"OK", "+OK\r\n", `+OK ""`},
		{"OK lower case", "+ok\r\n", `+OK ""`},
		{"ERR", "-ERR 'no'\r\n", `-ERR "'no'"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, rest, err := frames(tt.in, limits)
			if err != nil || rest != 0 || len(got) != 1 || got[0] != tt.want {
				t.Fatalf("got %q, rest %d, error %v, want %q", got, rest, err, tt.want)
			}
			// The same with something behind it.
			got, rest, err = frames(tt.in+"PIN", limits)
			if err != nil || rest != 3 || len(got) != 1 || got[0] != tt.want {
				t.Fatalf("with more behind it: got %q, rest %d, error %v, want %q", got, rest, err, tt.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	const violation = "Maximum Payload Violation"
	tests := []struct {
		name, in string
		want     *wire.Error
		text     string // of the -ERR
	}{
		{"unknown verb", "FOO a\r\n", wire.ErrUnknownOperation, "Unknown Protocol Operation"},
		{"no verb", "\r\n", wire.ErrUnknownOperation, "Unknown Protocol Operation"},
		{"blank first", " PING\r\n", wire.ErrUnknownOperation, "Unknown Protocol Operation"},
		{"wrong after the first letter", "PX", wire.ErrUnknownOperation, "Unknown Protocol Operation"},
		{"verb runs on", "PINGX\r\n", wire.ErrUnknownOperation, "Unknown Protocol Operation"},
		{"PUB runs on", "PUBX a 0\r\n\r\n", wire.ErrUnknownOperation, "Unknown Protocol Operation"},
		{"NUL", "\x00", wire.ErrUnknownOperation, "Unknown Protocol Operation"},
		{"MSG", "MSG a 1 0\r\n\r\n", wire.ErrUnknownOperation, "Unknown Protocol Operation"},
		{"HMSG", "HMSG a 1 0 0\r\n\r\n", wire.ErrUnknownOperation, "Unknown Protocol Operation"},
		{"RS+", "RS+ $G a\r\n", wire.ErrUnknownOperation, "Unknown Protocol Operation"},
		{"LS+", "LS+ a\r\n", wire.ErrUnknownOperation, "Unknown Protocol Operation"},
		{"payload too long", "PUB a 2\r\nhiX\r\n", wire.ErrUnknownOperation, "Unknown Protocol Operation"},
		{"payload without CR", "PUB a 2\r\nhi\n\r\n", wire.ErrUnknownOperation, "Unknown Protocol Operation"},
		{"payload without CR, odd line", "PUB a 2\nhi\n\r\n", wire.ErrUnknownOperation, "Unknown Protocol Operation"},
		{"HPUB payload too long", "HPUB a 2 4\r\nxxhiX\r\n", wire.ErrUnknownOperation, "Unknown Protocol Operation"},

		{"PUB without arguments", "PUB\r\n", wire.ErrPubArguments, ""},
		{"PUB blank", "PUB \r\n", wire.ErrPubArguments, ""},
		{"PUB without size", "PUB a\r\n", wire.ErrPubArguments, ""},
		{"PUB four arguments", "PUB a b c 1\r\n", wire.ErrPubArguments, ""},
		{"PUB five arguments", "PUB a b c d 1\r\n", wire.ErrPubArguments, ""},
		{"PUB many arguments", "PUB a b c d e f g 1\r\n", wire.ErrPubArguments, ""},
		{"PUB negative", "PUB a -1\r\n", wire.ErrPubArguments, ""},
		{"PUB plus", "PUB a +1\r\n", wire.ErrPubArguments, ""},
		{"PUB no number", "PUB a x\r\n", wire.ErrPubArguments, ""},
		{"PUB number and letter", "PUB a 1a\r\n", wire.ErrPubArguments, ""},
		{"PUB fraction", "PUB a 1.0\r\n", wire.ErrPubArguments, ""},
		{"PUB hexadecimal", "PUB a 0x1\r\n", wire.ErrPubArguments, ""},
		{"PUB reply without size", "PUB a b c\r\n", wire.ErrPubArguments, ""},
		{"PUB control character in the subject", "PUB a\x01b 1\r\nx\r\n", wire.ErrPubArguments, ""},
		{"PUB NUL in the reply", "PUB a b\x00 1\r\nx\r\n", wire.ErrPubArguments, ""},
		{"PUB CR in the subject", "PUB a\rb 1\r\nx\r\n", wire.ErrPubArguments, ""},

		{"HPUB without arguments", "HPUB\r\n", wire.ErrHPubArguments, ""},
		{"HPUB without sizes", "HPUB a\r\n", wire.ErrHPubArguments, ""},
		{"HPUB one size", "HPUB a 2\r\n", wire.ErrHPubArguments, ""},
		{"HPUB five arguments", "HPUB a b c 1 1\r\n", wire.ErrHPubArguments, ""},
		{"HPUB header above total", "HPUB a 20 10\r\n", wire.ErrHPubArguments, ""},
		{"HPUB header above total by one", "HPUB a 11 10\r\n", wire.ErrHPubArguments, ""},
		{"HPUB header above total, odd line", "HPUB  a 20 10\r\n", wire.ErrHPubArguments, ""},
		{"HPUB negative header", "HPUB a -1 2\r\n", wire.ErrHPubArguments, ""},
		{"HPUB negative total", "HPUB a 1 -2\r\n", wire.ErrHPubArguments, ""},
		{"HPUB header no number", "HPUB a x 2\r\n", wire.ErrHPubArguments, ""},
		{"HPUB total no number", "HPUB a 1 2x\r\n", wire.ErrHPubArguments, ""},
		{"HPUB huge header", "HPUB a 99999999999999999999 2\r\n", wire.ErrHPubArguments, ""},

		{"SUB without arguments", "SUB\r\n", wire.ErrSubArguments, ""},
		{"SUB without sid", "SUB a\r\n", wire.ErrSubArguments, ""},
		{"SUB four arguments", "SUB a b c d\r\n", wire.ErrSubArguments, ""},
		{"SUB five arguments", "SUB a b c d e\r\n", wire.ErrSubArguments, ""},
		{"UNSUB without arguments", "UNSUB\r\n", wire.ErrUnsubArguments, ""},
		{"UNSUB three arguments", "UNSUB 1 2 3\r\n", wire.ErrUnsubArguments, ""},
		{"UNSUB no number", "UNSUB 1 x\r\n", wire.ErrUnsubArguments, ""},
		{"UNSUB negative", "UNSUB 1 -1\r\n", wire.ErrUnsubArguments, ""},

		{"PUB one above the limit", "PUB a 33\r\n", wire.ErrPayload, violation},
		{"PUB above the limit, odd line", "PUB  a 33\r\n", wire.ErrPayload, violation},
		{"PUB ten digits", "PUB a 9999999999\r\n", wire.ErrPayload, violation},
		{"PUB above int64", "PUB a 9223372036854775808\r\n", wire.ErrPayload, violation},
		{"PUB above uint64", "PUB a 18446744073709551617\r\n", wire.ErrPayload, violation},
		{"PUB size of 30 digits", "PUB a " + strings.Repeat("9", 30) + "\r\n", wire.ErrPayload, violation},
		{"PUB size whose low bits fit", "PUB a 4294967297\r\n", wire.ErrPayload, violation},
		{"HPUB headers count", "HPUB a 12 33\r\n", wire.ErrPayload, violation},
		{"HPUB above uint64", "HPUB a 12 18446744073709551628\r\n", wire.ErrPayload, violation},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := frames("PING\r\n"+tt.in, limits)
			if !errors.Is(err, tt.want) {
				t.Fatalf("error = %v after %q, want %v", err, got, tt.want)
			}
			if len(got) != 1 || got[0] != `PING ""` {
				t.Errorf("frames before the error = %q, want the PING", got)
			}
			if tt.want.Text != tt.text {
				t.Errorf("text = %q, want %q", tt.want.Text, tt.text)
			}
			if err.Error() == "" {
				t.Error("the error says nothing for the log")
			}
		})
	}
}

// TestControlLineLimit takes lines at the limit, and one byte above it.
func TestControlLineLimit(t *testing.T) {
	most := limits.ControlLineBytes
	text := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		name string
		line func(args int) string // with so many bytes of arguments
	}{
		{"PUB", func(n int) string { return "PUB " + text(n-2) + " 0\r\n\r\n" }},
		{"PUB odd", func(n int) string { return "PUB\t" + text(n-2) + " 0\r\n\r\n" }},
		{"PUB reply", func(n int) string { return "PUB a " + text(n-4) + " 0\r\n\r\n" }},
		{"PUB blanks between", func(n int) string { return "PUB a" + strings.Repeat(" ", n-2) + "0\r\n\r\n" }},
		{"HPUB", func(n int) string { return "HPUB " + text(n-4) + " 1 1\r\nx\r\n" }},
		{"HPUB reply", func(n int) string { return "HPUB a " + text(n-6) + " 1 1\r\nx\r\n" }},
		{"SUB", func(n int) string { return "SUB " + text(n-2) + " 1\r\n" }},
		{"SUB trailing blanks", func(n int) string { return "SUB a 1" + strings.Repeat(" ", n-3) + "\r\n" }},
		{"UNSUB", func(n int) string { return "UNSUB " + text(n) + "\r\n" }},
		{"CONNECT", func(n int) string { return "CONNECT " + text(n) + "\r\n" }},
		{"INFO", func(n int) string { return "INFO " + text(n) + "\r\n" }},
		{"PING", func(n int) string { return "PING " + text(n) + "\r\n" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, rest, err := frames(tt.line(most), limits); err != nil || rest != 0 || len(got) != 1 {
				t.Errorf("at the limit: got %q, rest %d, error %v, want a frame", got, rest, err)
			}
			if got, _, err := frames(tt.line(most+1), limits); !errors.Is(err, wire.ErrControlLine) {
				t.Errorf("one above the limit: got %q, error %v, want %v", got, err, wire.ErrControlLine)
			}
			// Without its end, the line is refused as soon as it cannot become one that is allowed.
			endless, _, _ := strings.Cut(tt.line(most+1), "\r")
			if _, _, err := frames(endless+"yy", limits); !errors.Is(err, wire.ErrControlLine) {
				t.Errorf("endless: error = %v, want %v", err, wire.ErrControlLine)
			}
			unended, _, _ := strings.Cut(tt.line(most), "\n")
			if _, rest, err := frames(unended, limits); err != nil || rest != len(unended) {
				t.Errorf("without LF: rest %d, error %v, want to wait", rest, err)
			}
		})
	}
}

func TestPayloadLimit(t *testing.T) {
	most := limits.PayloadBytes
	for _, line := range []string{"PUB a %d\r\n", "PUB  a %d\r\n", "PUB a r %d\r\n", "HPUB a 1 %d\r\n", "HPUB a r 1  %d\r\n"} {
		whole := fmt.Sprintf(line, most) + strings.Repeat("x", most) + "\r\n"
		if got, rest, err := frames(whole, limits); err != nil || rest != 0 || len(got) != 1 {
			t.Errorf("%q at the limit: got %q, rest %d, error %v, want a frame", line, got, rest, err)
		}
		// Refused before any of the payload has come.
		if _, _, err := frames(fmt.Sprintf(line, most+1), limits); !errors.Is(err, wire.ErrPayload) {
			t.Errorf("%q above the limit: error = %v, want %v", line, err, wire.ErrPayload)
		}
	}
}

// TestPartial gives every beginning of a frame: the parser waits, and knows how much it needs as soon as the
// line is complete.
func TestPartial(t *testing.T) {
	tests := []struct{ name, in, line string }{
		{"PUB", "PUB a 5\r\nhello\r\n", "PUB a 5\r\n"},
		{"PUB reply", "PUB a r 5\r\nhello\r\n", "PUB a r 5\r\n"},
		{"PUB odd", "PUB  a\tr 05\r\nhello\r\n", "PUB  a\tr 05\r\n"},
		{"PUB bare LF", "PUB a 5\nhello\r\n", "PUB a 5\n"},
		{"HPUB", "HPUB a 2 5\r\nhello\r\n", "HPUB a 2 5\r\n"},
		{"HPUB reply", "HPUB a r 2 5\r\nhello\r\n", "HPUB a r 2 5\r\n"},
		{"HPUB no header", "HPUB a 0 5\r\nhello\r\n", "HPUB a 0 5\r\n"},
		{"SUB", "SUB a q 1\r\n", ""},
		{"UNSUB", "UNSUB a 1\r\n", ""},
		{"CONNECT", "CONNECT {}\r\n", ""},
		{"PING", "PING\r\n", ""},
		{"PONG", "PONG\r\n", ""},
		{"INFO", "INFO {}\r\n", ""},
		{"OK", "+OK\r\n", ""},
		{"ERR", "-ERR 'x'\r\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := wire.Parser{Limits: limits}
			for i := range len(tt.in) {
				var f wire.Frame
				n, err := p.Next([]byte(tt.in[:i]), &f)
				if n != 0 || err != nil {
					t.Fatalf("%q: got %d, %v, want to wait", tt.in[:i], n, err)
				}
				want := 0
				// One byte more may be wanted behind a bare LF, which might begin nothing canonical.
				if tt.line != "" && (i > len(tt.line) || i == len(tt.line) && strings.HasSuffix(tt.line, "\r\n")) {
					want = len(tt.in)
				}
				if got := p.Need(); got != want && i != len(tt.line) {
					t.Errorf("%q: need = %d, want %d", tt.in[:i], got, want)
				}
			}
			var f wire.Frame
			if n, err := p.Next([]byte(tt.in), &f); n != len(tt.in) || err != nil || p.Need() != 0 {
				t.Errorf("whole: got %d, %v, need %d, want %d bytes", n, err, p.Need(), len(tt.in))
			}
		})
	}
}

// TestOwnership checks what the package comment promises: slices of a frame do not reach beyond it, and
// nothing is written to the input.
func TestOwnership(t *testing.T) {
	for _, in := range []string{"PUB a r 2\r\nhi\r\n", "HPUB a r 1 2\r\nhi\r\n", "PUB\ta r 2\r\nhi\r\n", "HPUB a r 0 2\r\nhi\r\n", "SUB a q 1\r\n", "UNSUB 1 2\r\n", "CONNECT {}\r\n"} {
		const next = "PING\r\n"
		b := []byte(in + next)
		p := wire.Parser{Limits: limits}
		var f wire.Frame
		if _, err := p.Next(b, &f); err != nil {
			t.Fatal(err)
		}
		parts := [][]byte{f.Subject, f.Reply, f.Queue, f.SID, f.Args, f.Tail}
		if f.Tail != nil {
			parts = append(parts, f.Header(), f.Body())
		}
		for _, s := range parts {
			_ = append(s, "overwritten"...)
		}
		if !strings.HasSuffix(string(b), next) || string(b) != in+next {
			t.Errorf("%q: appending to the parts of a frame changed the buffer to %q", in, b)
		}
	}
}

func TestVerbString(t *testing.T) {
	for v, want := range map[wire.Verb]string{wire.VerbNone: "", wire.VerbHPub: "HPUB", wire.VerbOK: "+OK", wire.VerbErr: "-ERR", 99: "?"} {
		if got := v.String(); got != want {
			t.Errorf("Verb(%d) = %q, want %q", v, got, want)
		}
	}
}
