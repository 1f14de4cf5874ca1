package server_test

import (
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server"
	"runnel/server/memory"
	"runnel/server/servertest"
)

// TestMemoryUsedUp: a server whose budget is used up refuses new connections, shows it, and says that it is degraded. What Go is told
// concerns the whole process, and is taken back at once.
func TestMemoryUsedUp(t *testing.T) {
	options := servertest.Options(t, `http_port: -1`)
	before := debug.SetMemoryLimit(math.MaxInt64)
	s, err := server.OpenOn(server.Host{Memory: memory.Budget{Bytes: 1 << 20, GoalBytes: 1 << 10, Origin: memory.OfContainer}}, options, nil)
	told := debug.SetMemoryLimit(before)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if told != 1<<10 {
		t.Errorf("Go was told %d, want the goal", told)
	}
	type varz struct {
		Memory struct {
			Limit, Goal int64
			From, State string
			Refused     int
		}
	}
	servertest.Eventually(t, "the memory to be used up", func() bool { return page[varz](t, s, "/varz").Memory.State == "stopped" })
	if _, err := nats.Connect(s.ClientURL()); err == nil || !strings.Contains(err.Error(), "maximum connections exceeded") {
		t.Errorf("got %v, want that there are too many connections", err)
	}
	if got := page[varz](t, s, "/varz").Memory; got.Limit != 1<<20 || got.Goal != 1<<10 || got.From != "cgroup" || got.Refused == 0 {
		t.Errorf("got %+v, want the budget, and connections that were refused", got)
	}
	status, body := get(t, s, "/healthz")
	if status != 200 {
		t.Errorf("healthz: status %d", status)
	}
	mustContain(t, "healthz", body, "MEMORY", "memory is used up")
}
