package counter_test

import (
	"math/big"
	"testing"

	"runnel/jetlog/counter"
)

func TestParse(t *testing.T) {
	for payload, want := range map[string]string{
		string(counter.Payload("-12")): "-12", `{"val":"340282366920938463463374607431768211456"}`: "340282366920938463463374607431768211456",
		``: "", `{}`: "", `{"val":"x"}`: "", `{"val":1}`: "", `[`: "",
	} {
		n := new(big.Int)
		if ok := counter.Parse([]byte(payload), n); ok != (want != "") || ok && n.String() != want {
			t.Errorf("%q: got %v, %v, want %q", payload, n, ok, want)
		}
	}
}

// TestTake takes in the totals of other counters, whatever comes twice.
func TestTake(t *testing.T) {
	s := counter.Seen{}
	for _, step := range []struct {
		about, source, payload string
		want                   string
	}{
		{"the first", "A 7", `{"val":"5"}`, "5"},
		{"again", "A 7", `{"val":"5"}`, "0"},
		{"more", "A 8", `{"val":"12"}`, "7"},
		{"less", "A 9", `{"val":"10"}`, "-2"},
		{"another stream", "B 1", `{"val":"3"}`, "3"},
		{"a subject of its own", "A 9 > > there", `{"val":"4"}`, "4"},
		{"no stream", "", `{"val":"4"}`, ""},
		{"no total", "A 9", `four`, ""},
	} {
		got, ok := s.Take([]byte(step.source), "here", []byte(step.payload))
		if ok != (step.want != "") || ok && got.String() != step.want {
			t.Errorf("%s: got %v, %v, want %q", step.about, got, ok, step.want)
		}
	}
	if s["A"]["here"] != "10" || s["A"]["there"] != "4" || s["B"]["here"] != "3" {
		t.Errorf("seen is %v", s)
	}
	s["A"]["here"] = "broken"
	if _, ok := s.Take([]byte("A 9"), "here", []byte(`{"val":"4"}`)); ok {
		t.Error("a total that cannot be read is taken for one")
	}
}
