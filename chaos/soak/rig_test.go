package soak

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runnel/chaos/process"
)

// TestBudgets: each server has a memory budget, and only one that understands it is told of it and held to it.
func TestBudgets(t *testing.T) {
	want := map[string]int64{"connections": 512 << 20, "memory": 100 << 20}
	o := &Options{Load: Load{BudgetBytes: 100 << 20}}
	for _, s := range Scenarios() {
		for _, d := range []process.Dialect{process.Runnel, process.Incumbent} {
			o.Program.Dialect = d
			dir := filepath.Join(t.TempDir(), s.Name)
			r, err := newRig(dir, o, s)
			if err != nil {
				t.Fatal(err)
			}
			limit := want[s.Name]
			if limit == 0 {
				limit = usualBudget
			}
			setting := fmt.Sprintf("memory_limit: %d\n", limit)
			cfg := r.server.Config()
			if got := strings.Contains(cfg.Extra, setting); got != (d == process.Runnel) {
				t.Errorf("%s: configuration %q, want %q: %v", s.Name, cfg.Extra, setting, d == process.Runnel)
			}
			if d != process.Runnel {
				limit = 0
			}
			if r.result.LimitBytes != limit || r.result.Verdict != Passed || r.result.Scenario != s.Name {
				t.Errorf("%s: got %+v, want limit %d", s.Name, r.result, limit)
			}
			if cfg.Client == cfg.Monitor || cfg.StoreDir != filepath.Join(dir, "streams") {
				t.Errorf("%s: got %+v", s.Name, cfg)
			}
		}
	}
}

// TestChoose: scenarios come in the order in which they were asked for, and all of them if none was.
func TestChoose(t *testing.T) {
	var all []string
	for _, s := range Scenarios() {
		if s.Text == "" || s.run == nil || slices.Contains(all, s.Name) {
			t.Errorf("%s has no text or does nothing, or is there twice", s.Name)
		}
		all = append(all, s.Name)
	}
	tests := []struct {
		name        string
		names, want []string
		err         string
	}{
		{"none", nil, all, ""},
		{"one", []string{"storms"}, []string{"storms"}, ""},
		{"their order", []string{"memory", "storms"}, []string{"memory", "storms"}, ""},
		{"one twice", []string{"storms", "storms"}, []string{"storms", "storms"}, ""},
		{"a wrong one", []string{"storms", "Storms"}, nil, `no scenario "Storms"`},
		{"an empty one", []string{""}, nil, `no scenario ""`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			chosen, err := choose(test.names)
			var got []string
			for _, s := range chosen {
				got = append(got, s.Name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
		})
	}
}

// TestNotPrepared: what this machine does not allow is told before a server starts, and is no verdict on it. All other errors are errors.
func TestNotPrepared(t *testing.T) {
	never := func(context.Context, *rig) error {
		t.Error("it was run, and is not prepared")
		return nil
	}
	for _, failed := range []error{errNotRunnable, fmt.Errorf("nobody may mount: %w", errNotRunnable), errRefused} {
		o := &Options{Dir: t.TempDir()}
		r, err := one(t.Context(), o, Scenario{Name: "some", prepare: func(*rig) error { return failed }, run: never})
		if errors.Is(failed, errNotRunnable) {
			if err != nil || r.Verdict != NotRunnable || !slices.Equal(r.Why, []string{failed.Error()}) {
				t.Errorf("%v: got %+v, %v, want that it is not runnable", failed, r, err)
			}
			continue
		}
		if !errors.Is(err, failed) || r.Verdict == NotRunnable {
			t.Errorf("%v: got %+v, %v, want an error", failed, r, err)
		}
	}
}

// TestNoTools: without the programs that they need, the scenarios of limits are not runnable, and say what is missing.
func TestNoTools(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, s := range Scenarios() {
		if s.prepare == nil {
			continue
		}
		r, err := newRig(t.TempDir(), &Options{}, s)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.prepare(r); !errors.Is(err, errNotRunnable) || err.Error() == errNotRunnable.Error() {
			t.Errorf("%s: got %v, want one that says what is missing", s.Name, err)
		}
		if r.room != nil {
			t.Errorf("%s: there is a room without a mount", s.Name)
		}
	}
}

// TestUntil: the condition is looked at once at least, and no more when it holds or the time is up.
func TestUntil(t *testing.T) {
	tests := []struct {
		name  string
		after int // how many looks it does not hold
		limit time.Duration
		want  bool
		looks int
	}{
		{"at once", 0, time.Second, true, 1},
		{"at once, and there is no time", 0, 0, true, 1},
		{"later", 3, time.Second, true, 4},
		{"too late", 100, 10*lookEvery + lookEvery/2, false, 11},
		{"never", 1 << 30, lookEvery / 2, false, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.limit)
				defer cancel()
				looks := 0
				got := until(ctx, func() bool { looks++; return looks > test.after })
				if got != test.want || looks != test.looks {
					t.Errorf("got %v after %d looks, want %v after %d", got, looks, test.want, test.looks)
				}
			})
		})
	}
}

// TestWait: it ends with its time or with the run, whichever is first.
func TestWait(t *testing.T) {
	for _, test := range []struct{ length, run, want time.Duration }{
		{time.Second, time.Minute, time.Second},
		{time.Minute, time.Second, time.Second},
		{0, time.Minute, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), test.run)
			defer cancel()
			began := time.Now()
			wait(ctx, test.length)
			if got := time.Since(began); got != test.want {
				t.Errorf("%v of a run of %v: got %v, want %v", test.length, test.run, got, test.want)
			}
		})
	}
}

// TestTooManyConnections: more than this process may have open are not tried, as that would say nothing about the server.
func TestTooManyConnections(t *testing.T) {
	most := openFiles()
	if most == 0 {
		t.Skip("nobody knows how many files may be open")
	}
	r := &rig{load: Load{Connections: most}, result: Result{Verdict: Passed}}
	err := connections(t.Context(), r)
	if !errors.Is(err, errNotRunnable) || !strings.Contains(err.Error(), "ulimit -n") || r.result.Verdict != Passed {
		t.Errorf("got %v and %+v, want that it is not runnable and what to do", err, r.result)
	}
}

func TestMib(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0.0 MiB", 1 << 19: "0.5 MiB", 1 << 20: "1.0 MiB", 3 << 29: "1536.0 MiB", -(1 << 20): "-1.0 MiB"} {
		if got := mib(bytes); got != want {
			t.Errorf("%d bytes: got %q, want %q", bytes, got, want)
		}
	}
}
