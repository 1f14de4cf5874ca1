package powercut_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/powercut"
	"runnel/jetlog/vfs"
)

// start runs a cluster of three, with a stream on all of them and one on a single server.
func start(t *testing.T) (*powercut.Cluster, jetstream.JetStream) {
	t.Helper()
	t.Parallel() // mostly they wait for elections
	var log logBuffer
	c, err := powercut.Start(powercut.Options{Servers: 3, Dir: t.TempDir(), Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			log.keep(t)
		}
	})
	js, err := jetstream.New(connect(t, c))
	if err != nil {
		t.Fatal(err)
	}
	for name, replicas := range map[string]int{"three": 3, "one": 1} {
		waitFor(t, "creation of stream "+name, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".*"}, Replicas: replicas})
			return err == nil
		})
	}
	return c, js
}

// logBuffer has the logs of the servers.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// keep writes the logs where the environment wants them.
func (l *logBuffer) keep(t *testing.T) {
	dir := os.Getenv("POWERCUT_LOGS")
	if dir == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := os.WriteFile(filepath.Join(dir, t.Name()+".log"), l.text.Bytes(), 0o600); err != nil {
		t.Error(err)
	}
}

// TestAllLosePower turns all servers off at the same instant, again and again, while they take messages: what was not
// synced is lost on each of them, as chance wants it, and nothing that was acknowledged.
func TestAllLosePower(t *testing.T) {
	c, js := start(t)
	three, one := startLoad(t, c, "three", 8, 0), startLoad(t, c, "one", 4, 0)
	for seed := range uint64(cuts) {
		r := rand.New(rand.NewPCG(seed, 1))
		goal := three.count() + 1 + r.IntN(400)
		waitFor(t, "messages before the cut", func() bool { return three.count() >= goal })
		c.CutPower(func(i int) vfs.Choice { return vfs.Random(seed*8 + uint64(i)) }, 0, 1, 2)
		for _, i := range r.Perm(3) {
			if err := c.PowerOn(i); err != nil {
				t.Fatalf("after cut %d: %v", seed, err)
			}
		}
		three.waitAck()
		one.waitAck()
	}
	three.verify(js)
	one.verify(js)
}

// TestForgetfulMajority has a majority come about of which none was there, or remembers, all of what was acknowledged unless it was
// synced: one server is away while the two others take messages, then one of these loses its power and with it what it had not
// synced, the third is cut off, and the first comes back.
func TestForgetfulMajority(t *testing.T) {
	c, js := start(t)
	three := startLoad(t, c, "three", 8, 0)
	lose := func(int) vfs.Choice { return vfs.Lose }
	for round := range rounds {
		away, forgetful, cutOff := round%3, (round+1)%3, (round+2)%3
		c.CutPower(lose, away)
		three.waitAck()
		goal := three.count() + 100
		waitFor(t, "messages while one is away", func() bool { return three.count() >= goal })
		c.CutPower(lose, forgetful)
		c.Part(cutOff)
		for _, i := range []int{away, forgetful} {
			if err := c.PowerOn(i); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		three.waitAck() // by the two
		c.Part()
	}
	three.verify(js)
}

// TestMinorityLosesPower turns one server off and on while the others go on, whichever leads.
func TestMinorityLosesPower(t *testing.T) {
	c, js := start(t)
	three := startLoad(t, c, "three", 8, 0)
	for seed := range uint64(rounds) {
		i := int(seed) % 3
		c.CutPower(func(int) vfs.Choice { return vfs.Random(seed) }, i)
		three.waitAck()
		if err := c.PowerOn(i); err != nil {
			t.Fatalf("after cut %d: %v", seed, err)
		}
		waitFor(t, "all replicas", func() bool { return current(t, js, "three") })
	}
	three.verify(js)
}

// current reports whether all replicas of a stream have what its leader has.
func current(t *testing.T, js jetstream.JetStream, stream string) bool {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return false
	}
	cluster := s.CachedInfo().Cluster
	if cluster == nil || cluster.Leader == "" || len(cluster.Replicas) != 2 {
		return false
	}
	for _, r := range cluster.Replicas {
		if !r.Current || r.Offline {
			return false
		}
	}
	return true
}

// points are the places in the work of a server at which a cut is most likely to show what was forgotten.
func points() []powercut.Point {
	return []powercut.Point{
		{Do: powercut.Write, Where: "/wal/", Skip: 20},
		{Do: powercut.Write, Where: "/wal/", Skip: 20, After: true}, // appended, not synced
		{Do: powercut.Sync, Where: "/wal/", Skip: 20},
		{Do: powercut.Sync, Where: "/wal/", Skip: 20, After: true}, // synced, not acknowledged
		{Do: powercut.Rename, Where: "/wal/"},
		{Do: powercut.Rename, Where: "/wal/", After: true},
		{Do: powercut.Create, Where: "/segments/", After: true},
		{Do: powercut.Write, Where: "/segments/"},
		{Do: powercut.Sync, Where: "/segments/"},
		{Do: powercut.Sync, Where: "/segments/", After: true},
		{Do: powercut.Rename, Where: "/segments/"},
		{Do: powercut.Rename, Where: "/segments/", After: true},
		{Do: powercut.SyncDir, Where: "/segments/"},
		{Do: powercut.SyncDir, Where: "/segments/", After: true},
		{Do: powercut.Write, Where: "/manifest"},
		{Do: powercut.Sync, Where: "/manifest"},
		{Do: powercut.Sync, Where: "/manifest", After: true},
		{Do: powercut.Decide},
		{Do: powercut.Decide, After: true},
	}
}

// TestPoints has the power of one server go at each point, while the others go on. Files are written all
// the time, since the stores are small, and streams come and go, so that there is something to decide.
func TestPoints(t *testing.T) {
	c, js := start(t)
	three := startLoad(t, c, "three", 8, 4<<10)
	busy(t, c)
	for n, p := range points() {
		if n%pointsStep != 0 {
			continue
		}
		for attempt := range 3 { // not every server comes to every point
			i := (n + attempt) % 3
			gone, disarm := c.Arm(i, p, vfs.Random(uint64(n)))
			select {
			case <-gone:
			case <-time.After(pointPatience):
				disarm()
				t.Logf("%s did not come to %v; %d messages", c.Name(i), p, three.count())
				if attempt == 2 {
					t.Errorf("no server came to %v", p)
				}
				continue
			}
			if err := c.PowerOn(i); err != nil {
				t.Fatalf("%v: %v", p, err)
			}
			three.waitAck()
			break
		}
	}
	three.verify(js)
}

// pointPatience is how long a server may take to come to a point.
const pointPatience = 20 * time.Second

// busy makes and deletes streams until the test ends.
func busy(t *testing.T, c *powercut.Cluster) {
	js, err := jetstream.New(connect(t, c))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			name := fmt.Sprintf("short-%d", n%3)
			limited, cancel := context.WithTimeout(ctx, 2*time.Second)
			// Either may fail while servers come and go.
			_, _ = js.CreateStream(limited, jetstream.StreamConfig{Name: name, Subjects: []string{name}, Replicas: 3})
			_ = js.DeleteStream(limited, name)
			cancel()
		}
	})
	t.Cleanup(func() {
		stop()
		working.Wait()
	})
}
