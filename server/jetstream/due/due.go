// Package due does what time asks for in a stream: removes what is too old, publishes what is scheduled, and goes on with what a
// command has left to be removed. It sets an alarm for what comes next, and does nothing until then.
package due

import (
	"errors"
	"sync/atomic"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/due"
	"runnel/server/jetstream/alarm"
	"runnel/server/jetstream/clock"
)

const (
	// again is how long what failed when its time had come waits.
	again = 5 * time.Second
	// firedAtOnce is how many due schedules are looked up at a time.
	firedAtOnce = 64
)

// Log is a stream of which the state is read; *store.Stream is one.
type Log interface {
	View(do func(*jetlog.Stream, jetlog.Messages) error) error
}

// Config says what a keeper works on. All is required.
type Config struct {
	Log   Log
	Clock *clock.Clock // the stream's time
	// Propose carries a command out.
	Propose func(command.Command) (jetlog.Result, error)
	// Fired is told of each message that was published by a schedule, and Changed when messages have gone.
	Fired   func(jetlog.Message, jetlog.Result)
	Changed func()
	// Failed is told what did not work; it is false if the stream has ended, so that it is not tried again.
	Failed func(what string, err error) bool
	// Go begins a goroutine that whoever has opened the stream waits for.
	Go func(func())
}

// Keeper does what is due in one stream. Its methods are safe for concurrent use.
type Keeper struct {
	cfg     Config
	alarm   alarm.Alarm
	looking atomic.Bool // a goroutine is about to look what time will do
}

// New returns a keeper, which does nothing before Watch is called.
func New(cfg Config) *Keeper {
	k := &Keeper{cfg: cfg}
	k.alarm = alarm.Alarm{Clock: cfg.Clock.Time, Ring: k.passed}
	return k
}

// Stop lets nothing be done any more. Something may still be under way.
func (k *Keeper) Stop() { k.alarm.Stop() }

// Stored sets the alarm anew if a message that was stored may be the next that time does something about. It runs
// where commands are applied, which must not wait for a disk: so the look is another goroutine's, one for all messages
// that come before it begins.
func (k *Keeper) Stored(cfg *config.Stream) {
	// Without a limit of its own a subject may have more messages than one command rolls up.
	rolls := cfg.AllowRollup && cfg.MaxPerSubject <= 0
	timed := cfg.AllowTTL || cfg.AllowSchedules || rolls || cfg.MaxAge > 0 && !k.alarm.IsSet()
	if timed && k.looking.CompareAndSwap(false, true) {
		k.cfg.Go(func() {
			k.looking.Store(false)
			k.Watch()
		})
	}
}

// Reach has the stream go on from the time that it has come to, wherever it was led until now. If it cannot be read, Watch says so.
func (k *Keeper) Reach() {
	_ = k.cfg.Log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		k.cfg.Clock.Reach(state.Clock())
		return nil
	})
}

// Watch looks when time will change the stream next, and sets the alarm.
func (k *Keeper) Watch() {
	var at int64
	err := k.cfg.Log.View(func(state *jetlog.Stream, messages jetlog.Messages) error {
		k.cfg.Clock.Reach(state.Clock()) // there may be commands by other clocks
		expiry, err := state.NextExpiry(messages)
		at = earlier(expiry, state.NextSchedule())
		if state.Unfinished() {
			at = k.cfg.Clock.Now()
		}
		return err
	})
	if err != nil {
		k.failed("cannot tell what expires next", err)
		return
	}
	k.alarm.Set(at)
}

// earlier is the earlier of two times, of which 0 is never.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// passed does what time asks for.
func (k *Keeper) passed() {
	if !k.expire() || !k.fire() {
		return
	}
	if err := k.finish(); err != nil {
		k.failed("cannot go on removing messages", err)
		return
	}
	k.Watch()
}

// failed tells what went wrong and has it tried again later; nothing if the stream has ended here.
func (k *Keeper) failed(what string, err error) {
	if k.cfg.Failed(what, err) {
		k.alarm.Set(k.cfg.Clock.Now() + int64(again))
	}
}

// finish removes what commands have left to be removed.
func (k *Keeper) finish() error {
	unfinished := false
	err := k.cfg.Log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		unfinished = state.Unfinished()
		return nil
	})
	if err != nil || !unfinished {
		return err
	}
	_, err = k.cfg.Propose(&command.Continue{Time: k.cfg.Clock.Now()})
	return err
}

// expire removes what is too old, and is false if that failed.
func (k *Keeper) expire() bool {
	for more := true; more; {
		result, err := k.cfg.Propose(&command.Expire{Time: k.cfg.Clock.Now()})
		if err != nil {
			k.failed("cannot expire messages", err)
			return false
		}
		if result.Removed > 0 {
			k.cfg.Changed()
		}
		more = result.More
	}
	return true
}

// fire publishes what is due, and is false if that failed.
func (k *Keeper) fire() bool {
	for {
		due, err := k.due()
		for _, c := range due {
			result, failed := k.cfg.Propose(c)
			if failed != nil {
				err = failed
				break
			}
			if result.Code == 0 && result.Stored {
				k.cfg.Fired(jetlog.Message{
					Sequence: result.Sequence, Time: c.Time, Subject: c.Subject, Header: c.Header, Payload: c.Payload,
				}, result)
			}
		}
		if err != nil {
			k.failed("cannot publish what is scheduled", err)
			return false
		}
		if len(due) < firedAtOnce {
			return true
		}
	}
}

// due returns the commands that publish what is due now, the earliest first. With an error they are those that can
// be published in spite of it: one whose time zone is not known here, say, does not hold up others.
func (k *Keeper) due() (fires []*command.Fire, err error) {
	now := k.cfg.Clock.Now()
	err = k.cfg.Log.View(func(state *jetlog.Stream, messages jetlog.Messages) error {
		var errs []error
		for _, d := range state.DueSchedules(now, firedAtOnce) {
			fire, err := due.Fire(d, now, messages)
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
