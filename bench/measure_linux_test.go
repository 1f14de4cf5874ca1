package bench_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runnel/bench"
)

// procFile writes a file as /proc has it.
func procFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadTicked(t *testing.T) {
	rest := " S 1 2 3 4 5 6 7 8 9 10 "
	tests := []struct {
		name, text string
		want       time.Duration
		err        string
	}{
		{"plain", "77 (server)" + rest + "150 50 0 0", 2 * time.Second, ""},
		{"a name with everything in it", "77 (a) S 1 (b c)" + rest + "1 2 0", 30 * time.Millisecond, ""},
		{"cut short", "77 (server) S 1 2", 0, "13 are needed"},
		{"empty", "", 0, "13 are needed"},
		{"no user time", "77 (server)" + rest + "x 50", 0, "user time"},
		{"no system time", "77 (server)" + rest + "1 y", 0, "system time"},
	}
	for _, test := range tests {
		got, err := bench.ReadTicked(procFile(t, test.text))
		if got != test.want || !explains(err, test.err) {
			t.Errorf("%s: got %v, %v, want %v, %q", test.name, got, err, test.want, test.err)
		}
	}
}

// explains tells whether an error has a text in it; no text means no error.
func explains(err error, text string) bool {
	if text == "" {
		return err == nil
	}
	return err != nil && strings.Contains(err.Error(), text)
}

func TestReadScheduled(t *testing.T) {
	// Thread 2 has ended between the listing and the reading.
	threads := map[string]string{"1": "1500 20 3\n", "2": "", "3": "2500 0 0\n"}
	tasks := func(threads map[string]string) string {
		dir := t.TempDir()
		for name, text := range threads {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
			if text == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name, "schedstat"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	if got, err := bench.ReadScheduled(tasks(threads)); got != 4000 || err != nil {
		t.Errorf("two threads: got %v, %v, want 4µs", got, err)
	}
	if got, err := bench.ReadScheduled(tasks(map[string]string{"1": "", "2": ""})); got != 0 || err != nil {
		t.Errorf("a kernel without statistics: got %v, %v, want 0", got, err)
	}
	if got, err := bench.ReadScheduled(tasks(map[string]string{"1": "soon"})); !explains(err, "thread 1") {
		t.Errorf("no number: got %v, %v", got, err)
	}
	if got, err := bench.ReadScheduled(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Errorf("no such process: got %v", got)
	}
}

func TestReadResident(t *testing.T) {
	page := int64(os.Getpagesize())
	tests := []struct {
		name, text string
		want       int64
		err        string
	}{
		{"plain", "1000 25 3 4 5 6 7\n", 25 * page, ""},
		{"cut short", "1000", 0, "no resident size"},
		{"no number", "1000 many", 0, "resident size"},
	}
	for _, test := range tests {
		got, err := bench.ReadResident(procFile(t, test.text))
		if got != test.want || !explains(err, test.err) {
			t.Errorf("%s: got %v, %v, want %v, %q", test.name, got, err, test.want, test.err)
		}
	}
}
