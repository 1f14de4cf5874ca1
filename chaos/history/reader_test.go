package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runnel/chaos/history"
)

const (
	lineA = `{"process":1,"kind":"publish","value":"1-1","start":5,"end":9,"result":"ok"}`
	lineB = `{"process":2,"kind":"fault","node":"n1","value":"kill","start":6,"end":7,"result":"ok","color":"red"}`
)

func TestParse(t *testing.T) {
	tests := []struct {
		name string
		text string
		want int    // operations
		err  string // part of the error; "" for none
		cut  bool
	}{
		{"nothing", "", 0, "", false},
		{"two", lineA + "\n" + lineB + "\n", 2, "", false},
		{"cut off", lineA + "\n" + lineB[:20], 1, "line 2", true},
		{"cut off before the end of the line", lineA + "\n" + lineB, 1, "line 2", true},
		{"cut off at once", "{", 0, "line 1", true},
		{"empty line", lineA + "\n\n" + lineB + "\n", 1, "line 2", false},
		{"not an object", lineA + "\n[]\n", 1, "line 2", false},
		{"two on a line", lineA + lineA + "\n", 0, "line 1", false},
		{"unknown result", `{"kind":"ack","result":"fine"}` + "\n", 0, `"fine" is none of`, false},
		{"no result is unknown", `{"kind":"ack"}` + "\n", 1, "", false},
		{"no kind", `{"result":"ok"}` + "\n", 0, "no kind", false},
		{"end before start", `{"kind":"ack","start":3,"end":2}` + "\n", 0, "before start", false},
		{"end too late", `{"kind":"ack","end":9223372036854775807}` + "\n", 0, "after the beginning", false},
		{"long line", `{"kind":"` + strings.Repeat("a", 2<<20) + `"}` + "\n", 0, "longer than", false},
		{"long and cut off", strings.Repeat("a", 2<<20), 0, "longer than", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got int
			var last error
			for _, err := range history.Parse(strings.NewReader(tt.text)) {
				if last = err; err == nil {
					got++
				}
			}
			if got != tt.want {
				t.Errorf("got %d operations, want %d", got, tt.want)
			}
			if errors.Is(last, history.ErrCut) != tt.cut {
				t.Errorf("got %v, want ErrCut: %v", last, tt.cut)
			}
			if tt.err == "" && last != nil || tt.err != "" && (last == nil || !strings.Contains(last.Error(), tt.err)) {
				t.Errorf("got %v, want an error with %q", last, tt.err)
			}
		})
	}
}

func TestParseStopsWhenAsked(t *testing.T) {
	n := 0
	for range history.Parse(strings.NewReader(lineA + "\n" + lineB + "\nrubbish\n")) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d operations, want 1", n)
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	if _, err := history.ReadFile(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is no such file", err)
	}
	if err := os.WriteFile(path, []byte(lineA+"\n"+lineB[:30]), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := history.ReadFile(path)
	if len(got) != 1 || cap(got) != 1 || !errors.Is(err, history.ErrCut) {
		t.Errorf("got %d operations, room for %d, and %v, want 1, 1 and ErrCut", len(got), cap(got), err)
	}
	if _, err := history.ReadFile(t.TempDir()); err == nil {
		t.Error("got no error for a folder")
	}
}

func TestResultWords(t *testing.T) {
	for r, want := range map[history.Result]string{history.Unknown: "unknown", history.OK: "ok", history.Failed: "failed", 7: "Result(7)"} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	var zero history.Operation
	if zero.Result != history.Unknown {
		t.Errorf("the result that nobody set is %v, want unknown", zero.Result)
	}
}

// FuzzParse reads whatever it is given. What comes out can be written and read again unchanged.
func FuzzParse(f *testing.F) {
	f.Add([]byte(lineA + "\n" + lineB + "\n"))
	f.Add([]byte(lineA + "\n" + lineB[:40]))
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"kind":"ack","result":"failed","error":"\u0000\ud800","sequence":18446744073709551615}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var all []history.Operation
		var failed error
		for o, err := range history.Parse(bytes.NewReader(data)) {
			if failed != nil {
				t.Fatal("something came after an error")
			}
			if failed = err; err == nil {
				all = append(all, o)
			}
		}
		if n := bytes.Count(data, []byte("\n")); failed == nil && len(all) != n {
			t.Fatalf("%d operations from %d lines", len(all), n)
		}
		var again bytes.Buffer
		for _, o := range all {
			line, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			again.Write(append(line, '\n'))
		}
		n := 0
		for o, err := range history.Parse(&again) {
			if err != nil || o != all[n] {
				t.Fatalf("got %+v, %v, want %+v", o, err, all[n])
			}
			n++
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := strings.Repeat(lineA+"\n", 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range history.Parse(strings.NewReader(text)) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
