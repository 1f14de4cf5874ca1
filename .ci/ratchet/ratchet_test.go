package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// writeList makes a list file with the given text.
func writeList(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "list.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// script is a runner that answers its calls from prepared results and remembers what it was asked.
type script struct {
	answers []results
	asked   []selection
}

func (s *script) run(sel selection) (results, error) {
	s.asked = append(s.asked, sel)
	if len(s.answers) == 0 {
		return nil, errors.New("no answer left")
	}
	r := s.answers[0]
	s.answers = s.answers[1:]
	return r, nil
}

func TestRatchet(t *testing.T) {
	pass := result{status: "pass"}
	fail := result{status: "fail", area: "reconnect", output: "x_test.go:1: broken"}
	tests := []struct {
		name    string
		list    string
		suites  []string
		history string
		answers []results
		asked   [][]string // the tests of each run
		paused  bool       // before the last one
		want    []string   // parts of the report
		err     string
		after   string // the list afterwards; empty means unchanged
	}{
		{
			name: "all pass", list: "core.TestA\nmicro.TestB\n",
			answers: []results{{"core.TestA": pass, "micro.TestB": pass}},
			asked:   [][]string{{"core.TestA", "micro.TestB"}},
			want:    []string{"2 listed, 2 passed, 0 of them only when run again, 0 failed"},
		},
		{
			name: "one fails once", list: "core.TestA\ncore.TestB\n",
			answers: []results{{"core.TestA": pass, "core.TestB": fail}, {"core.TestB": pass}},
			asked:   [][]string{{"core.TestA", "core.TestB"}, {"core.TestB"}},
			want:    []string{"core.TestB passed only when run again", "2 passed, 1 of them only"},
		},
		{
			name: "one fails twice", list: "core.TestA\ncore.TestB\n",
			answers: []results{{"core.TestA": pass, "core.TestB": fail}, {"core.TestB": fail}, {"core.TestB": pass}},
			asked:   [][]string{{"core.TestA", "core.TestB"}, {"core.TestB"}, {"core.TestB"}},
			want:    []string{"core.TestB passed only when run again", "2 passed, 1 of them only"},
			paused:  true,
		},
		{
			name: "one fails each time", list: "core.TestA\ncore.TestB\n",
			answers: []results{{"core.TestA": pass, "core.TestB": fail}, {"core.TestB": fail}, {"core.TestB": fail}},
			asked:   [][]string{{"core.TestA", "core.TestB"}, {"core.TestB"}, {"core.TestB"}},
			paused:  true,
			want:    []string{"FAIL core.TestB (reconnect): fail\n    x_test.go:1: broken", "1 failed"},
			err:     "1 listed tests do not pass any more",
		},
		{
			name: "a listed test that the suite does not have", list: "core.TestA\n",
			answers: []results{{}, {}, {}},
			asked:   [][]string{{"core.TestA"}, {"core.TestA"}, {"core.TestA"}},
			paused:  true,
			want:    []string{"FAIL core.TestA: the suite has no such test"},
			err:     "1 listed tests",
		},
		{
			name: "too many fail twice for a last run", list: "core.TestA\ncore.TestB\ncore.TestC\ncore.TestD\n",
			answers: []results{{}, {}},
			asked: [][]string{
				{"core.TestA", "core.TestB", "core.TestC", "core.TestD"},
				{"core.TestA", "core.TestB", "core.TestC", "core.TestD"},
			},
			err: "4 listed tests",
		},
		{
			name: "update has a last run", list: "core.TestA\n", suites: []string{"core"},
			answers: []results{{"core.TestA": fail}, {"core.TestA": fail}, {"core.TestA": pass}},
			asked:   [][]string{nil, {"core.TestA"}, {"core.TestA"}},
			paused:  true,
		},
		{
			name: "an unlisted test of the same name passes", list: "core.TestA\n",
			answers: []results{{"core.TestA": pass, "jetstream.TestA": pass}},
			asked:   [][]string{{"core.TestA"}},
			want:    []string{"may be added: jetstream.TestA"},
		},
		{
			name: "an unlisted test fails", list: "core.TestA\n",
			answers: []results{{"core.TestA": pass, "jetstream.TestA": fail}},
			asked:   [][]string{{"core.TestA"}},
			want:    []string{"0 failed"},
		},
		{
			name: "empty list", list: "# nothing yet\n",
			want: []string{"0 listed"},
		},
		{
			name: "update adds what passes twice", list: "# head\ncore.TestB\n", suites: []string{"core", "micro"},
			answers: []results{
				{"core.TestA": pass, "core.TestB": pass, "core.TestC": fail, "core.TestD": pass},
				{"micro.TestM": pass},
				{"core.TestA": pass, "core.TestD": fail, "micro.TestM": pass},
			},
			asked: [][]string{nil, nil, {"core.TestA", "core.TestD", "micro.TestM"}},
			want:  []string{"added: core.TestA", "not added, it passed only once: core.TestD", "added: micro.TestM"},
			after: "# head\ncore.TestA\ncore.TestB\nmicro.TestM\n",
		},
		{
			name: "update still holds to the list", list: "core.TestB\n", suites: []string{"core"},
			answers: []results{{"core.TestA": pass, "core.TestB": fail}, {"core.TestA": pass, "core.TestB": fail}, {"core.TestB": fail}},
			asked:   [][]string{nil, {"core.TestB", "core.TestA"}, {"core.TestB"}},
			paused:  true,
			want:    []string{"FAIL core.TestB", "added: core.TestA"},
			err:     "1 listed tests",
			after:   "core.TestA\ncore.TestB\n",
		},
		{
			name: "a line was taken out", list: "core.TestA\n", history: "+core.TestA\n-core.TestB\n+core.TestB\n",
			err: "taken out of it (say why with a line \"# gone NAME: reason\"):\n  core.TestB",
		},
		{
			name: "a line was taken out with a reason", list: "# gone core.TestB: renamed in the suite\ncore.TestA\n",
			history: "+core.TestA\n-core.TestB\n+core.TestB\n",
			answers: []results{{"core.TestA": pass}},
			asked:   [][]string{{"core.TestA"}},
			want:    []string{"1 listed, 1 passed"},
		},
		{name: "the suite breaks", list: "core.TestA\n", asked: [][]string{{"core.TestA"}}, err: "no answer left"},
		{name: "not a test", list: "# x\nTestA\n", err: `list.txt:2: "TestA" is not of the form package.TestName`},
		{name: "twice", list: "core.TestA\ncore.TestA\n", err: "list.txt:2: core.TestA stands there twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := writeList(t, tt.list)
			s := &script{answers: tt.answers}
			var out strings.Builder
			var paused time.Duration
			err := ratchet(&out, file, tt.suites, tt.history, s.run, func(d time.Duration) { paused += d })
			if (paused > 0) != tt.paused {
				t.Errorf("paused %v, want a pause: %t", paused, tt.paused)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got error %v, want one with %q", err, tt.err)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got report\n%s\nwant it to contain %q", &out, want)
				}
			}
			var asked [][]string
			for _, sel := range s.asked {
				asked = append(asked, sel.tests)
			}
			if !slices.EqualFunc(asked, tt.asked, slices.Equal) {
				t.Errorf("got runs of %q, want %q", asked, tt.asked)
			}
			after, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if want := tt.after; want != "" && string(after) != want || want == "" && string(after) != tt.list {
				t.Errorf("got list %q, want %q (empty: %q)", after, want, tt.list)
			}
		})
	}
}

func TestReadResults(t *testing.T) {
	printed := []byte("[1/3] pass core.TestA 0.1s\n[2/3] fail core.TestB 0.2s\n[3/3] pass micro.TestC 1.0s\n--- core.TestB\nx\n1/3\n")
	report := `{"passed": 2, "failed": 1, "failures": [{"test": "core.TestB", "area": "reconnect", "status": "timeout", "secs": 1, "output": "late"}]}`
	got, err := readResults(printed, []byte(report))
	if err != nil {
		t.Fatal(err)
	}
	want := results{
		"core.TestA":  {status: "pass"},
		"core.TestB":  {status: "timeout", area: "reconnect", output: "late"},
		"micro.TestC": {status: "pass"},
	}
	if len(got) != len(want) {
		t.Errorf("got %d results, want %d", len(got), len(want))
	}
	for id, w := range want {
		if got[id] != w {
			t.Errorf("%s: got %+v, want %+v", id, got[id], w)
		}
	}
	for _, bad := range []string{`{"passed": 3, "failed": 1}`, `{"passed": 2, "failed": 2}`, `x`} {
		if _, err := readResults(printed, []byte(bad)); err == nil {
			t.Errorf("report %s that does not fit the output: got no error", bad)
		}
	}
}

func TestPattern(t *testing.T) {
	tests := []struct {
		name  string
		tests []string
		want  string
	}{
		{"none", nil, ""},
		{"one", []string{"core.TestA"}, "^(TestA)$"},
		{"same name in two packages", []string{"core.TestA", "jetstream.TestA", "micro.TestB"}, "^(TestA|TestB)$"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (selection{tests: tt.tests}).pattern(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
