package alarm_test

import (
	"testing"
	"testing/synctest"
	"time"

	"runnel/server/jetstream/alarm"
)

// TestAlarm rings once, at the earliest time, and not after Stop.
func TestAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rings := 0
		a := alarm.Alarm{Clock: time.Now, Ring: func() { rings++ }}
		at := func(d time.Duration) int64 { return time.Now().Add(d).UnixNano() }
		a.Set(0)
		if a.IsSet() {
			t.Error("0 has set it")
		}
		a.Set(at(time.Minute))
		a.Set(at(time.Second))
		a.Set(at(time.Hour)) // later: nothing new
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if rings != 1 || a.IsSet() {
			t.Errorf("after two seconds: %d rings, set %v, want 1, false", rings, a.IsSet())
		}
		a.Set(at(-time.Second)) // has passed
		synctest.Wait()
		if rings != 2 {
			t.Errorf("at a time that has passed: %d rings, want 2", rings)
		}
		a.Set(at(time.Second))
		a.Stop()
		a.Set(at(time.Second))
		time.Sleep(time.Minute)
		if rings != 2 {
			t.Errorf("after Stop: %d rings, want 2", rings)
		}
	})
}
