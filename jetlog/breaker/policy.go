package breaker

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"runnel/jetlog/setting"
)

// ErrPolicy is wrapped by every error of Parse.
var ErrPolicy = errors.New("not a policy of a breaker")

// Limits of the settings.
const (
	windowMin   = time.Second
	windowMax   = time.Hour
	pauseMin    = time.Second
	pauseMax    = 24 * time.Hour
	attemptsMax = 1_000_000
)

const names = "failures, window, min, pause"

// Policy says when a consumer is paused. The zero value is none: use Parse. Policies can be compared with ==.
type Policy struct {
	// Percent is the share of failures, from 1 to 100.
	Percent int
	// Window is the time over which they are counted.
	Window time.Duration
	// Least is how many attempts must have ended in it.
	Least int
	// Pause is how long the consumer rests.
	Pause time.Duration
}

// Parse returns the policy that a text describes. An error wraps ErrPolicy and says what is wrong and what may be there.
func Parse(text string) (Policy, error) {
	p := Policy{Percent: 50, Window: time.Minute, Least: 20, Pause: 30 * time.Second}
	err := setting.Fits(text)
	if err == nil && text != "" {
		err = setting.Each(text, names, p.set)
	}
	if err != nil {
		return Policy{}, fmt.Errorf("%w: %w; write failures=50%%,window=1m,min=20,pause=30s", ErrPolicy, err)
	}
	return p, nil
}

// set changes one setting.
func (p *Policy) set(name, value string) (err error) {
	switch name {
	case "failures":
		number, isPercent := strings.CutSuffix(value, "%")
		p.Percent, err = strconv.Atoi(number)
		if err != nil || !isPercent || p.Percent < 1 || p.Percent > 100 {
			err = fmt.Errorf("needs a share from 1%% to 100%%; got %q", value)
		}
	case "window":
		p.Window, err = setting.Duration(value, windowMin, windowMax)
	case "min":
		p.Least, err = strconv.Atoi(value)
		if err != nil || p.Least < 1 || p.Least > attemptsMax {
			err = fmt.Errorf("needs a whole number from 1 to %d; got %q", attemptsMax, value)
		}
	case "pause":
		p.Pause, err = setting.Duration(value, pauseMin, pauseMax)
	default:
		err = fmt.Errorf("there is no such setting; there are %s", names)
	}
	return err
}

// String returns the policy in the form that Parse reads, with all its settings.
func (p Policy) String() string {
	return fmt.Sprintf("failures=%d%%,window=%s,min=%d,pause=%s", p.Percent, setting.Short(p.Window), p.Least, setting.Short(p.Pause))
}
