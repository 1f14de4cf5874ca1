package workload_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"runnel/chaos/history"
	"runnel/chaos/workload"
)

// ways counts what was read in the end, by node and way.
func ways(ops []history.Operation, stream string) map[string]int {
	all := map[string]int{}
	for _, o := range ops {
		if o.Kind == history.Final && o.Stream == stream {
			all[strings.TrimSuffix(o.Node+" "+o.Consumer, " ")]++
		}
	}
	return all
}

func TestThreeServers(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		pinned       bool
	}{
		{"W1", workload.LogStream, true},
		{"W6", workload.BucketStream, true},
		{"W10", workload.KeptStream, true},
		{"W11", workload.DeadLetterStream, false},
		{"W14", workload.DelayedStream, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, nodes := three(t)
			cfg := config(nodes)
			ops := run(t, c.name, cfg, plan{enough: stored(messages[c.name])})
			t.Log(summary(ops))
			clean(t, findings(c.name, ops, cfg))
			want := []string{"s1", "s2", "s3"}
			if c.pinned {
				want = []string{"s1", "s1 final-s1", "s2", "s2 final-s2", "s3", "s3 final-s3"}
			}
			read := ways(ops, c.stream)
			if got := slices.Sorted(maps.Keys(read)); !slices.Equal(got, want) {
				t.Fatalf("read in the end by %v, want %v", got, want)
			}
			for way, n := range read {
				if n != read["s1"] {
					t.Errorf("%d messages were read by %s, and %d by s1", n, way, read["s1"])
				}
			}
		})
	}
}

// A stream with one replica is read where that is, and only there.
func TestOneReplicaOfThreeServers(t *testing.T) {
	t.Parallel()
	_, nodes := three(t)
	cfg := config(nodes)
	cfg.Replicas = 1
	ops := run(t, "W1", cfg, plan{enough: stored(50)})
	clean(t, findings("W1", ops, cfg))
	if read := ways(ops, workload.LogStream); len(read) != 2 {
		t.Errorf("read in the end by %v, want one server in two ways", read)
	}
}

// Clients of a server that goes and comes again go on.
func TestServerThatRestarts(t *testing.T) {
	t.Parallel()
	cluster, nodes := three(t)
	cfg := config(nodes)
	restarted := make(chan struct{})
	enough := stored(50)
	ops := run(t, "W1", cfg, plan{
		before: func() {
			go func() {
				defer close(restarted)
				cluster.Stop(1)
				cluster.Start(1)
			}()
		},
		enough: func(o history.Operation) bool { // after the restart, at the server that was stopped
			select {
			case <-restarted:
				return o.Node == "s2" && enough(o)
			default:
				return false
			}
		},
	})
	t.Log(summary(ops))
	clean(t, findings("W1", ops, cfg))
}

// A replica that does not come back does not keep the others from being read, and what could not be is said.
func TestServerThatStaysAway(t *testing.T) {
	t.Parallel()
	cluster, nodes := three(t)
	cfg := config(nodes)
	r := &memory{}
	cfg.Recorder, cfg.CallTimeout = r, 500*time.Millisecond
	w, err := workload.New("W1", cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithTimeout(context.Background(), finishLimit)
	defer cancel()
	if err := w.Setup(ctx); err != nil {
		t.Fatal(err)
	}
	running, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if err := w.Run(running); err != nil {
		t.Fatal(err)
	}
	cluster.Stop(2)
	finish, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := w.Finish(finish); err == nil {
		t.Error("Finish is content with two of three servers")
	}
	w.Close()
	if count(r.ops, history.Stall, history.Failed) == 0 {
		t.Error("there is no stall")
	}
	read := ways(r.ops, workload.LogStream)
	if len(read) != 4 || read["s3"] > 0 {
		t.Errorf("read in the end by %v, want s1 and s2 in two ways", read)
	}
}
