package retry

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"runnel/jetlog/setting"
)

// ErrPolicy is wrapped by every error of Parse.
var ErrPolicy = errors.New("not a retry policy")

// Limits of the settings.
const (
	delayMin    = time.Millisecond
	delayMax    = 720 * time.Hour
	totalMax    = 8760 * time.Hour
	factorMin   = 11 * one / 10
	factorMax   = 100 * one
	attemptsMax = 1_000_000
)

// settings is what a policy may have, by its kind.
const (
	settingsExponential = "min, max, factor, jitter, attempts, total"
	settingsFixed       = "delay, jitter, attempts, total"
)

// Parse returns the policy that a text describes. An error wraps ErrPolicy and says what is wrong and what may
// be there.
func Parse(text string) (Policy, error) {
	if err := setting.Fits(text); err != nil {
		return Policy{}, fmt.Errorf("%w: %w", ErrPolicy, err)
	}
	kind, rest, more := strings.Cut(text, ",")
	var p Policy
	switch strings.TrimSpace(kind) {
	case "exponential":
		p = Policy{min: time.Second, max: 5 * time.Minute, factor: 2 * one, jitter: one / 5}
	case "fixed":
		p = Policy{fixed: true}
	default:
		return Policy{}, fmt.Errorf("%w: it begins with %q; write exponential,min=1s,max=5m or fixed,delay=30s", ErrPolicy, kind)
	}
	if more {
		if err := setting.Each(rest, p.settings(), p.set); err != nil {
			return Policy{}, fmt.Errorf("%w: %w", ErrPolicy, err)
		}
	}
	if err := p.check(); err != nil {
		return Policy{}, fmt.Errorf("%w: %w", ErrPolicy, err)
	}
	return p, nil
}

func (p *Policy) settings() string {
	if p.fixed {
		return settingsFixed
	}
	return settingsExponential
}

// set changes one setting.
func (p *Policy) set(name, value string) (err error) {
	switch {
	case name == "delay" && p.fixed:
		p.min, err = setting.Duration(value, delayMin, delayMax)
		p.max = p.min
	case name == "min" && !p.fixed:
		p.min, err = setting.Duration(value, delayMin, delayMax)
	case name == "max" && !p.fixed:
		p.max, err = setting.Duration(value, delayMin, delayMax)
	case name == "factor" && !p.fixed:
		p.factor, err = decimals(value, factorMin, factorMax)
	case name == "jitter":
		p.jitter, err = decimals(value, 0, one)
	case name == "attempts":
		p.attempts, err = strconv.Atoi(value)
		if err != nil || p.attempts < 1 || p.attempts > attemptsMax {
			err = fmt.Errorf("needs a whole number from 1 to %d; got %q", attemptsMax, value)
		}
	case name == "total":
		p.total, err = setting.Duration(value, delayMin, totalMax)
	case p.fixed:
		err = fmt.Errorf("there is no such setting for fixed; there are %s", settingsFixed)
	default:
		err = fmt.Errorf("there is no such setting for exponential; there are %s", settingsExponential)
	}
	return err
}

// check finds settings that do not go together.
func (p *Policy) check() error {
	switch {
	case p.fixed && p.min == 0:
		return errors.New("fixed needs a delay; write fixed,delay=30s")
	case p.min > p.max:
		return fmt.Errorf("min=%s is longer than max=%s", setting.Short(p.min), setting.Short(p.max))
	case p.total > 0 && p.total < p.min:
		return fmt.Errorf("total=%s ends before the first delay of %s; to deliver once only, write attempts=1", setting.Short(p.total), setting.Short(p.min))
	}
	return nil
}

// decimals parses a number with at most three decimals.
func decimals(value string, least, most thousandths) (thousandths, error) {
	wrong := fmt.Errorf("needs a number from %s to %s with at most three decimals; got %q", least, most, value)
	whole, fraction, _ := strings.Cut(value, ".")
	if len(fraction) > 3 || strings.HasSuffix(value, ".") {
		return 0, wrong
	}
	n, err := strconv.ParseUint(whole+fraction+"000"[len(fraction):], 10, 31)
	if t := thousandths(n); err == nil && whole != "" && t >= least && t <= most {
		return t, nil
	}
	return 0, wrong
}

// String returns the number without zeros at its end.
func (t thousandths) String() string {
	text := fmt.Sprintf("%d.%03d", t/one, t%one)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// String returns the policy in the form that Parse reads, with all its settings, also those that were left out:
// so a text that was kept means the same for all time.
func (p Policy) String() string {
	var b strings.Builder
	if p.fixed {
		fmt.Fprintf(&b, "fixed,delay=%s,jitter=%s", setting.Short(p.min), p.jitter)
	} else {
		fmt.Fprintf(&b, "exponential,min=%s,max=%s,factor=%s,jitter=%s", setting.Short(p.min), setting.Short(p.max), p.factor, p.jitter)
	}
	if p.attempts > 0 {
		fmt.Fprintf(&b, ",attempts=%d", p.attempts)
	}
	if p.total > 0 {
		fmt.Fprintf(&b, ",total=%s", setting.Short(p.total))
	}
	return b.String()
}
