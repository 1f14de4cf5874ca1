package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
	"runnel/chaos/report"
)

// update rewrites the golden files: go test ./chaos/report -update.
var update = flag.Bool("update", false, "rewrite the golden files")

// evil is a text that would do harm where it is not escaped.
const evil = `"><script>alert(1)</script><img src=x onerror='a()'>` + "\x00\xff`${x}`"

// sample is a run of a minute in which one node is killed and another is cut off and loses a message.
func sample() ([]history.Operation, *report.Run) {
	var ops []history.Operation
	sequence := uint64(0)
	for i := range 600 {
		start := time.Duration(i) * 100 * time.Millisecond
		o := history.Operation{
			Process: i % 4, Node: fmt.Sprintf("n%d", 1+i%3), Workload: "W1", Kind: history.Publish, Stream: "LOG", Key: "log.a", Value: fmt.Sprintf("%d-%d", i%4, i/4),
			Start: start, End: start + time.Duration(1+i%7)*3*time.Millisecond, Result: history.OK,
		}
		if i >= 200 && i < 240 {
			o.Result, o.End, o.Error = history.Unknown, start+2*time.Second, "nats: timeout"
		} else {
			sequence++
			o.Sequence = sequence
		}
		ops = append(ops, o)
		if i%5 == 0 {
			o.Workload, o.Kind, o.Stream, o.Value, o.Expected = "W10", history.Swap, "REG", o.Value+"s", o.Sequence
			ops = append(ops, o)
		}
	}
	ops = append(ops,
		history.Operation{Kind: history.Fault, Node: "n1", Value: "kill", Start: 20 * time.Second, End: 24 * time.Second, Result: history.OK},
		history.Operation{Kind: history.Fault, Node: "n2", Value: "damage-wal", Key: "wal/1.wal: cut at byte 4096, 17 are gone", Start: 34 * time.Second, End: 36 * time.Second, Result: history.OK},
		history.Operation{Kind: history.Fault, Node: "n2", Value: "cut", Start: 22 * time.Second, End: 30 * time.Second, Result: history.OK},
		history.Operation{Kind: history.Fault, Node: "n3", Value: "pause", Start: 45 * time.Second, End: 45*time.Second + 200*time.Millisecond, Result: history.Failed, Error: "no such process"},
	)
	for _, node := range []string{"n1", "n2", "n3"} {
		for _, o := range ops[:len(ops):len(ops)] {
			if o.Kind == history.Publish && o.Result == history.OK && (node != "n2" || o.Sequence != 77) {
				o.Kind, o.Node, o.Start, o.End = history.Final, node, 70*time.Second, 70*time.Second
				ops = append(ops, o)
			}
		}
		ops = append(ops, history.Operation{
			Node: node, Workload: "W1", Kind: history.Drained, Stream: "LOG", Sequence: sequence,
			Start: 71 * time.Second, End: 71 * time.Second, Result: history.OK,
		})
	}
	sets, findings := check.Log(ops, "LOG")
	r := &report.Run{
		Command: "runnel chaos -binary ./runnel -schedule mix -seed 42", Seed: 42, Schedule: "mix",
		Began: time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC), Duration: 72 * time.Second,
		Server: report.Server{Binary: "./runnel", Version: "runnel 0.7.0"}, Machine: "linux/amd64, 2 processors", Servers: 3, Replicas: 3,
		Settings:    []report.Setting{{Name: "writers", Value: "4"}, {Name: "value size", Value: "128 bytes"}},
		NotRunnable: []report.NotRunnable{{What: "full disk", Why: "no file system of its own can be mounted"}},
	}
	r.Conclude(ops, sets, findings, "")
	return ops, r
}

// golden compares with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what it was; look at the difference and run with -update if it is right\n%s", path, difference(want, got))
	}
}

// difference is the first line that differs.
func difference(want, got []byte) string {
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d:\nwant %s\ngot  %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("want %d lines, got %d", len(w), len(g))
}

func html(t *testing.T, r *report.Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	_, r := sample()
	golden(t, "run.html", html(t, r))
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "run.json", b.Bytes())
	var again report.Run
	if err := json.Unmarshal(b.Bytes(), &again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(html(t, &again), html(t, r)) {
		t.Error("the page of what was read back from JSON is another one")
	}
}

func TestGoldenOfARunThatPassed(t *testing.T) {
	r := &report.Run{Command: "runnel chaos", Schedule: "none", Server: report.Server{Version: "runnel 0.7.0"}, Servers: 1, Replicas: 1}
	r.Conclude(nil, nil, nil, "")
	golden(t, "empty.html", html(t, r))
}

// TestNothingIsTakenForMarkup puts a hostile text in every place that a text comes from.
func TestNothingIsTakenForMarkup(t *testing.T) {
	o := history.Operation{
		Node: evil, Workload: evil, Kind: history.Publish, Stream: evil, Consumer: evil, Batch: evil, Key: evil, Value: evil,
		Error: evil, Result: history.Failed, End: time.Second, Expected: 3,
	}
	fault := history.Operation{Kind: history.Fault, Node: evil, Value: evil, Key: evil, Error: evil, End: 20 * time.Second}
	r := &report.Run{
		Command: evil, Schedule: evil, Server: report.Server{Binary: evil, Version: evil}, Machine: evil,
		Settings: []report.Setting{{Name: evil, Value: evil}}, NotRunnable: []report.NotRunnable{{What: evil, Why: evil}},
	}
	finding := check.Finding{Kind: check.Lost, Workload: evil, Stream: evil, Node: evil, Text: evil, Count: 2, Operations: []history.Operation{o}}
	other := o
	other.Start = 1
	r.Conclude([]history.Operation{o, other, fault}, []check.Set{{Stream: evil, Node: evil, Consumer: evil}}, []check.Finding{finding}, evil)
	page := string(html(t, r))
	for _, harm := range []string{"<script", "<img", "onerror='"} {
		if i := strings.Index(page, harm); i >= 0 {
			t.Errorf("the page has %q: ...%s", harm, page[max(0, i-80):min(len(page), i+80)])
		}
	}
	wellFormed(t, page)
}

// wellFormed reads the page as XML, which it is too, so that no element is open or nested wrongly.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(strings.ReplaceAll(page, "\ufffd", "?")))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("the page is not well formed: %v", err)
		}
	}
}

// TestThePageIsAlone wants nothing in it that is loaded from somewhere, and no program.
func TestThePageIsAlone(t *testing.T) {
	_, r := sample()
	page := string(html(t, r))
	wellFormed(t, page)
	if m := regexp.MustCompile(`(?i)(https?:)?//[a-z]|src=|href=|@import|url\(|<script|<link|<iframe|javascript:| on[a-z]+=`).FindString(page); m != "" {
		t.Errorf("the page has %q", m)
	}
	for _, want := range []string{
		`name="viewport"`, "prefers-color-scheme: dark", "@media print", "<svg", "differs at n2", "lost at n2", "operations around it",
		"runnel chaos -binary ./runnel -schedule mix -seed 42", "Not runnable here", "2 findings against the server", "kill at n1, 20s to 24s", "W10: requests",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Index(page, "W1: requests") > strings.Index(page, "W10: requests") {
		t.Error("W10 stands before W1")
	}
}

func TestVerdict(t *testing.T) {
	lost, unchecked := check.Finding{Kind: check.Lost, Count: 1}, check.Finding{Kind: check.Unchecked, Count: 1}
	gap := []report.NotRunnable{{What: "clock", Why: "no injected clock"}}
	tests := []struct {
		name     string
		findings []check.Finding
		reason   string
		gap      []report.NotRunnable
		want     report.Verdict
		code     int
		headline string
	}{
		{"nothing", nil, "", nil, report.Passed, 0, "Nothing was violated."},
		{"not all could be run", nil, "", gap, report.Passed, 0, "Nothing that was run was violated; 1 thing could not be run here."},
		{"lost", []check.Finding{lost}, "", gap, report.Violated, 2, "1 finding against the server."},
		{"lost and unchecked", []check.Finding{lost, unchecked, lost}, "", nil, report.Violated, 2, "2 findings against the server."},
		{"lost before it ended early", []check.Finding{lost}, "no port", nil, report.Violated, 2, "1 finding against the server."},
		{"unchecked", []check.Finding{unchecked, unchecked}, "", nil, report.Incomplete, 1, "2 things could not be checked."},
		{"not run", nil, "the binary does not start", nil, report.Incomplete, 1, "The run was not completed: the binary does not start."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &report.Run{NotRunnable: tt.gap}
			r.Conclude(nil, nil, tt.findings, tt.reason)
			if r.Verdict != tt.want || r.Verdict.ExitCode() != tt.code {
				t.Errorf("got %s and code %d, want %s and %d", r.Verdict, r.Verdict.ExitCode(), tt.want, tt.code)
			}
			if page := string(html(t, r)); !strings.Contains(page, tt.headline) {
				t.Errorf("the page does not say %q", tt.headline)
			}
		})
	}
}

// broken is a file that takes nothing.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWriteErrorsAreTold(t *testing.T) {
	_, r := sample()
	if err := r.WriteHTML(broken{}); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("HTML: got %v", err)
	}
	if err := r.WriteJSON(broken{}); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("JSON: got %v", err)
	}
}
