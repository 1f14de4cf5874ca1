package chore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/jetstream/chore"
)

// TestChore does what there is, comes back in time, and has no goroutine in between.
func TestChore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, waits := time.Now(), []time.Duration{0, time.Minute, -1, -1}
		var at []time.Duration
		c := chore.New(func(*chore.Chore) time.Duration {
			at = append(at, time.Since(begin))
			return waits[len(at)-1]
		})
		synctest.Wait()
		if len(at) != 0 {
			t.Fatal("something is done that nobody has asked for")
		}
		c.Wake()
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(at) != 3 || at[1] != 0 || at[2] != time.Minute {
			t.Fatalf("done at %v", at)
		}
		c.Wake()
		synctest.Wait()
		if len(at) != 4 || at[3] != time.Hour {
			t.Fatalf("done at %v", at)
		}
		c.Close()
		c.Wake()
		synctest.Wait()
		if len(at) != 4 || c.Context().Err() == nil {
			t.Fatalf("done at %v, after the end", at)
		}
	})
}

// TestWakeMeanwhile is told of more while it is at work, and while it waits: it looks again.
func TestWakeMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := 0
		c := chore.New(func(c *chore.Chore) time.Duration {
			switch steps++; steps {
			case 1:
				c.Wake()
				return -1
			case 2:
				return time.Hour
			}
			return -1
		})
		defer c.Close()
		c.Wake()
		synctest.Wait()
		if steps != 2 {
			t.Fatalf("%d steps, want another one", steps)
		}
		c.Wake()
		synctest.Wait()
		if steps != 3 {
			t.Errorf("%d steps, want one before the hour is over", steps)
		}
	})
}
