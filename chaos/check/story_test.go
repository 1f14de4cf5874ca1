package check_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

// story makes a history of a text, one operation a line:
//
//	<process> <kind> <field>=<value> ... [ok|unknown|failed]
//
// Fields are k (key), v (value), s (sequence), e (expected), b (batch), c (consumer), n (node), st (stream) and
// t (start-end in seconds). Without t, line i of the text takes from second i to i+0.5; without n it is at n1,
// without st in stream S; without a result it is OK.
//
//	final <node>[+consumer][/stream]: <message> <message> ...
//
// are the final reads of a node, from sequence 1 on: a value, key=value, key= for a deletion, _ for no message.
// The node * is n1, n2 and n3. They take place at second 1000, or at the second that stands behind an @ of the node.
func story(t testing.TB, text string) []history.Operation {
	t.Helper()
	var ops []history.Operation
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "final "); ok {
			ops = append(ops, finals(t, rest)...)
			continue
		}
		o, err := operation(i, strings.Fields(line))
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		ops = append(ops, o)
	}
	return ops
}

func operation(line int, words []string) (o history.Operation, err error) {
	o = history.Operation{Workload: "W", Node: "n1", Stream: "S", Kind: words[1], Result: history.OK}
	o.Start, o.End = at(float64(line)), at(float64(line)+0.5)
	if o.Process, err = strconv.Atoi(words[0]); err != nil {
		return o, err
	}
	for _, w := range words[2:] {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			if err := o.Result.UnmarshalText([]byte(w)); err != nil {
				return o, err
			}
			continue
		}
		switch name {
		case "k":
			o.Key = value
		case "v":
			o.Value = value
		case "s":
			o.Sequence, err = strconv.ParseUint(value, 10, 64)
		case "e":
			o.Expected, err = strconv.ParseUint(value, 10, 64)
		case "b":
			o.Batch = value
		case "c":
			o.Consumer = value
		case "n":
			o.Node = value
		case "st":
			o.Stream = value
		case "t":
			var start, end float64
			_, err = fmt.Sscanf(value, "%g-%g", &start, &end)
			o.Start, o.End = at(start), at(end)
		default:
			err = fmt.Errorf("no field %q", name)
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

func at(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func finals(t testing.TB, text string) []history.Operation {
	t.Helper()
	name, messages, ok := strings.Cut(text, ":")
	if !ok {
		t.Fatalf("no colon in %q", text)
	}
	name, stream, ok := strings.Cut(name, "/")
	if !ok {
		stream = "S"
	}
	name, second, ok := strings.Cut(name, "@")
	if !ok {
		second = "1000"
	}
	when, err := strconv.ParseFloat(second, 64)
	if err != nil {
		t.Fatal(err)
	}
	node, consumer, _ := strings.Cut(name, "+")
	nodes := []string{node}
	if node == "*" {
		nodes = []string{"n1", "n2", "n3"}
	}
	var ops []history.Operation
	for _, node := range nodes {
		o := history.Operation{Workload: "W", Stream: stream, Node: node, Consumer: consumer, Start: at(when), End: at(when), Result: history.OK}
		for i, m := range strings.Fields(messages) {
			o.Kind, o.Sequence = history.Final, uint64(i+1)
			if m == "_" {
				continue
			}
			o.Key, o.Value, ok = strings.Cut(m, "=")
			if !ok {
				o.Key, o.Value = "", m
			}
			ops = append(ops, o)
		}
		o.Kind, o.Key, o.Value = history.Drained, "", ""
		ops = append(ops, o)
	}
	return ops
}

// kinds are the findings in short: "lost@n1 order@", sorted.
func kinds(found []check.Finding) string {
	var all []string
	for _, f := range found {
		all = append(all, string(f.Kind)+"@"+f.Node)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// tale is a row of the tables: a story and the findings that it must give.
type tale struct {
	name  string
	story string
	want  string // as kinds gives them
}

// checkTales runs a checker over a table.
func checkTales(t *testing.T, checker func([]history.Operation) []check.Finding, tales []tale) {
	t.Helper()
	for _, tt := range tales {
		t.Run(tt.name, func(t *testing.T) {
			found := checker(story(t, tt.story))
			if got := kinds(found); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			for _, f := range found {
				t.Log(f.String())
				if f.Count < 1 || f.Text == "" || f.Violation() && len(f.Operations) == 0 {
					t.Errorf("%+v says not what it stems from", f)
				}
			}
		})
	}
}
