package check_test

import (
	"testing"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

func TestLiveness(t *testing.T) {
	liveness := func(tolerated func(history.Operation) bool) func([]history.Operation) []check.Finding {
		return func(ops []history.Operation) []check.Finding {
			return check.Liveness(ops, check.LivenessConfig{Limit: 5 * time.Second, Tolerated: tolerated})
		}
	}
	checkTales(t, liveness(nil), []tale{
		{"nobody tried", `9 fetch t=0-100`, ""},
		{"nothing broken", `
			1 publish v=a s=1 t=0-1
			1 publish v=b s=2 t=1-4`, ""},
		{"a pause of the load", `
			1 publish v=a s=1 t=0-1
			1 publish v=b s=2 t=50-51`, ""},
		{"the load ends with an unknown one, and there is something to do later", `
			1 publish v=a s=1 t=0-1
			1 publish v=b unknown t=1-5
			1 publish v=c s=2 t=20-21`, ""},
		{"nothing while it is broken, and soon after", `
			1 publish v=a s=1 t=0-1
			0 fault v=cut t=2-60
			1 publish v=b unknown t=2-32
			1 publish v=c unknown t=32-62
			1 publish v=d s=2 t=62-64`, ""},
		{"one is lost before all is healed, and the next is not", `
			1 publish v=a s=1 t=0-1
			0 fault v=cut t=2-20
			1 publish v=b unknown t=19.7-24.7
			1 publish v=c s=2 t=25.1-25.2`, ""},
		{"one is lost before all is healed, and the next are in vain", `
			1 publish v=a s=1 t=0-1
			0 fault v=cut t=2-20
			1 publish v=b unknown t=19.7-24.7
			1 publish v=c unknown t=25-28
			1 publish v=d unknown t=28-30.1`, "stalled@n1"},
		{"faults that follow each other closely", `
			0 fault v=cut t=2-20
			0 fault v=kill t=23-40
			1 publish v=b unknown t=2-42
			1 publish v=d s=2 t=42-44`, ""},
		{"an unknown in time that is healthy", `
			1 publish v=a unknown t=0-4
			1 publish v=b s=1 t=4-5`, ""},
		{"a fault that is not healed before the end", `
			1 publish v=a s=1 t=0-1
			0 fault v=cut t=2-90
			1 publish v=b unknown t=2-80`, ""},
		{"acks do not come back", `
			1 publish v=a s=1 t=0-1
			0 fault v=cut t=2-60
			1 publish v=b unknown t=59-61
			1 publish v=c unknown t=61-66
			1 publish v=d s=2 t=66-67`, "stalled@n1"},
		{"one that takes too long", `
			1 publish v=a s=1 t=0-9`, "stalled@n1"},
		{"refusals are no progress", `
			1 swap k=r v=a e=0 failed t=0-3
			1 swap k=r v=b e=0 failed t=3-7`, "stalled@n1"},
		{"pauses between tries", `
			1 publish v=a unknown t=0-1
			1 publish v=b unknown t=1.9-3
			1 publish v=c unknown t=3.9-4
			1 publish v=d s=1 t=4.9-6`, "stalled@n1"},
		{"one that takes long, while another is tried later", `
			1 publish v=a unknown t=0-1
			2 publish v=b unknown t=3-3.1
			3 publish v=c unknown t=0.5-10`, "stalled@n1"},
		{"nothing to the end", `
			1 publish v=a s=1 t=0-1
			1 publish v=b unknown t=2-60`, "stalled@n1"},
		{"between faults", `
			0 fault v=cut t=2-20
			1 publish v=a unknown t=15-29
			0 fault v=kill t=28-40
			1 publish v=d s=2 t=42-44`, "stalled@n1"},
	})
	checkTales(t, liveness(func(o history.Operation) bool { return o.Value == "kill-one" }), []tale{
		{"a minority is away, and acks go on", `
			1 publish v=a s=1 t=0-1
			0 fault v=kill-one t=2-60
			1 publish v=b unknown t=1-5
			1 publish v=c s=2 t=5-6
			1 publish v=d unknown t=56-62
			1 publish v=e s=3 t=62-63`, ""},
		{"a minority is away, and acks do not go on", `
			0 fault v=kill-one t=2-60
			1 publish v=b unknown t=1-9
			1 publish v=e s=3 t=62-63`, "stalled@n1"},
	})
}

func TestAvailability(t *testing.T) {
	got := check.Availability(story(t, `
		1 publish v=a s=1 t=1-1.5
		2 publish v=b s=2 t=1-1.7
		1 publish v=c unknown t=2-6.1
		1 publish v=d failed t=6.5-7
		1 publish v=e s=3 t=8-8.5
		3 publish v=f unknown t=8-12
		8 fetch v=a s=1 t=2-4
		8 fetch t=5-9
		8 read v=a s=1 t=5-9
		0 fault v=kill t=3-4
		final n1: a b`))
	want := []check.Figures{
		{Workload: "W", Kind: "fetch", OK: 1, Share: 1, LongestGap: at(2)},
		{Workload: "W", Kind: "publish", OK: 3, Failed: 1, Unknown: 2, Share: 2. / 5, LongestGap: at(6.8)},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
}
