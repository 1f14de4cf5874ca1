package jetstream

import (
	"errors"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/store"
)

const (
	// timedRetry is how long what failed when its time had come waits.
	timedRetry = 5 * time.Second
	// firedAtOnce is how many due schedules are looked up at a time.
	firedAtOnce = 64
)

// storedTimed sets the alarm anew if a message that was stored may be the next that time does something about. It runs
// where commands are applied, which must not wait for a disk: so the look is another goroutine's, one for all messages
// that come before it begins.
func (t *stream) storedTimed() {
	cfg := t.config()
	// Without a limit of its own a subject may have more messages than one command rolls up.
	rolls := cfg.AllowRollup && cfg.MaxPerSubject <= 0
	if cfg.AllowTTL || cfg.AllowSchedules || rolls || cfg.MaxAge > 0 && !t.alarm.IsSet() {
		if t.looking.CompareAndSwap(false, true) {
			t.account.service.running.Go(func() {
				t.looking.Store(false)
				t.watchTime()
			})
		}
	}
}

// reachTime has the stream go on from the time that it has come to, wherever it was led until now. If it cannot be read, watchTime says so.
func (t *stream) reachTime() {
	_ = t.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		t.clock.Reach(state.Clock())
		return nil
	})
}

// watchTime looks when time will change the stream next, and sets the alarm.
func (t *stream) watchTime() {
	var at int64
	err := t.log.View(func(state *jetlog.Stream, messages jetlog.Messages) error {
		t.clock.Reach(state.Clock()) // there may be commands by other clocks
		expiry, err := state.NextExpiry(messages)
		at = earlier(expiry, state.NextSchedule())
		if state.Unfinished() {
			at = t.clock.Now()
		}
		return err
	})
	if err != nil {
		t.timedFailed("cannot tell what expires next", err)
		return
	}
	t.alarm.Set(at)
}

// earlier is the earlier of two times, of which 0 is never.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// timePassed does what time asks for: it removes what is too old, publishes what is due, and goes on with what
// was left to be removed before a restart.
func (t *stream) timePassed() {
	if !t.expire() || !t.fireSchedules() {
		return
	}
	if err := t.finish(); err != nil {
		t.timedFailed("cannot go on removing messages", err)
		return
	}
	t.watchTime()
}

// timedFailed logs what went wrong and has it tried again later; nothing if the stream has ended here.
func (t *stream) timedFailed(what string, err error) {
	if errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrNotFound) || unled(err) || t.account.service.ctx.Err() != nil {
		return
	}
	t.account.service.logger.Error(what+"; trying again later", "account", t.log.Account(), "stream", t.log.Name(), "error", err)
	t.alarm.Set(t.clock.Now() + int64(timedRetry))
}

// finish removes what commands have left to be removed.
func (t *stream) finish() error {
	unfinished := false
	err := t.log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		unfinished = state.Unfinished()
		return nil
	})
	if err != nil || !unfinished {
		return err
	}
	_, err = t.propose(&command.Continue{Time: t.clock.Now()})
	return err
}

// expire removes what is too old, and is false if that failed.
func (t *stream) expire() bool {
	for more := true; more; {
		result, err := t.propose(&command.Expire{Time: t.clock.Now()})
		if err != nil {
			t.timedFailed("cannot expire messages", err)
			return false
		}
		if result.Removed > 0 {
			t.changed()
		}
		more = result.More
	}
	return true
}

// fireSchedules publishes what is due, and is false if that failed.
func (t *stream) fireSchedules() bool {
	for {
		due, err := t.due()
		for _, c := range due {
			result, failed := t.propose(c)
			if failed != nil {
				err = failed
				break
			}
			if result.Code == 0 && result.Stored {
				t.ingest.Announce(jetlog.Message{
					Sequence: result.Sequence, Time: c.Time, Subject: c.Subject, Header: c.Header, Payload: c.Payload,
				}, result)
			}
		}
		if err != nil {
			t.timedFailed("cannot publish what is scheduled", err)
			return false
		}
		if len(due) < firedAtOnce {
			return true
		}
	}
}

// due returns the commands that publish what is due now, the earliest first. With an error they are those that can
// be published in spite of it: one whose time zone is not known here, say, does not hold up others.
func (t *stream) due() (fires []*command.Fire, err error) {
	now := t.clock.Now()
	err = t.log.View(func(state *jetlog.Stream, messages jetlog.Messages) error {
		var errs []error
		for _, d := range state.DueSchedules(now, firedAtOnce) {
			fire, err := jetlog.Fire(d, now, messages)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			fires = append(fires, fire)
		}
		return errors.Join(errs...)
	})
	return fires, err
}
