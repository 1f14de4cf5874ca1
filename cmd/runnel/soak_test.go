package main

import (
	"bytes"
	"strings"
	"testing"

	"runnel/chaos/soak"
)

// TestSoakList: what there is to choose from is listed, and what there is not is refused.
func TestSoakList(t *testing.T) {
	var out, complaints bytes.Buffer
	if code := run(t.Context(), []string{"soak", "-list"}, &out, &complaints); code != 0 {
		t.Fatalf("code %d: %s", code, complaints.String())
	}
	for _, s := range soak.Scenarios() {
		if !strings.Contains(out.String(), s.Name) || !strings.Contains(out.String(), s.Text) {
			t.Errorf("%s is not listed in\n%s", s.Name, out.String())
		}
	}
	for _, args := range [][]string{{"soak", "x"}, {"soak", "-server", "no-such-server"}, {"soak", "-nonsense"}} {
		if code := run(t.Context(), args, &out, &complaints); code != 1 {
			t.Errorf("%q: code %d, want 1", args, code)
		}
	}
}
