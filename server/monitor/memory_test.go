package monitor_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"runnel/server/memory"
	"runnel/server/monitor"
)

// TestMemory: what is made of the memory budget is shown, and the server is degraded only when publishers are stopped.
func TestMemory(t *testing.T) {
	s := newSource()
	h := monitor.Handler(newPages(s), "")
	if text := get(h, "/varz").Body.String() + scrape(t, h); strings.Contains(text, `"memory"`) || strings.Contains(text, "runnel_memory_") {
		t.Error("a server without a budget shows one")
	}
	s.server.Memory = &memory.State{
		LimitBytes: 1100, GoalBytes: 1000, Origin: memory.OfContainer, UsedBytes: 800, Step: memory.Slow,
		Since: time.Unix(1, 0).UTC(), PaceBytes: 5, Scarce: 2, Refused: 3,
	}
	if text := get(h, "/varz").Body.String(); !strings.Contains(text, `"from": "cgroup"`) || !strings.Contains(text, `"state": "slow"`) {
		t.Errorf("no budget in %s", text)
	}
	text := scrape(t, h)
	for _, line := range []string{
		"runnel_memory_limit_bytes 1100", "runnel_memory_goal_bytes 1000", "runnel_memory_used_bytes 800", "runnel_memory_step 2",
		"runnel_memory_pace_bytes 5", "runnel_memory_scarce_total 2", "runnel_memory_refused_connections_total 3",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	for _, tt := range []struct {
		step     memory.Step
		degraded bool
	}{
		{memory.Calm, false},
		{memory.Slow, false},
		{memory.Stopped, true},
	} {
		s.server.Memory.Step = tt.step
		w := get(h, "/healthz")
		if got := strings.Contains(w.Body.String(), "MEMORY"); w.Code != http.StatusOK || got != tt.degraded {
			t.Errorf("%v: got %d %s, want degraded: %t", tt.step, w.Code, w.Body, tt.degraded)
		}
	}
}
