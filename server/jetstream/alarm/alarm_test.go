package alarm_test

import (
	"sync/atomic"
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

// TestAlarmOfAClock rings when its clock says so, also if that is set on while the timer runs; however long it takes, not before.
func TestAlarmOfAClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		var rings []time.Time
		a := alarm.Alarm{Clock: clock, Ring: func() { rings = append(rings, clock()) }}
		defer a.Stop()
		at := clock().Add(48 * time.Hour)
		a.Set(at.UnixNano())
		time.Sleep(47 * time.Hour)
		synctest.Wait()
		if len(rings) > 0 || !a.IsSet() {
			t.Fatalf("it has rung an hour before the time")
		}
		ahead.Store(int64(59 * time.Minute))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if len(rings) != 1 || rings[0].Before(at) || rings[0].After(at.Add(time.Minute)) {
			t.Errorf("rung at %v, want about %v", rings, at)
		}
	})
}
