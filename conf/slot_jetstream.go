package conf

import (
	"strings"
	"time"

	"runnel/conf/syntax"
)

// The slots of JetStream that have forms of their own.

// readShortJetStream reads `jetstream: true`.
func readShortJetStream(_ *decoder, _ string, v *syntax.Value, j *JetStream) (*JetStream, bool) {
	on, ok := isSwitch(v)
	j.Enabled = on
	return j, ok
}

// readShortAccountJetStream reads `jetstream: true` of an account.
func readShortAccountJetStream(_ *decoder, _ string, v *syntax.Value, j *AccountJetStream) (*AccountJetStream, bool) {
	on, ok := isSwitch(v)
	if !on {
		return nil, ok
	}
	return j, true
}

// syncSlot takes a policy of [SyncPolicy], and with it the pause between syncs.
type syncSlot struct {
	policy   *SyncPolicy
	interval *time.Duration
}

func (s syncSlot) kind() string { return "always, interval=100ms or os" }

func (s syncSlot) show() string {
	if *s.policy == SyncInterval {
		return string(SyncInterval) + "=" + syntax.ShowDuration(*s.interval)
	}
	return string(*s.policy)
}

func (s syncSlot) read(d *decoder, path string, v *syntax.Value) {
	if !v.IsScalar() {
		d.wrong(path, v, s.kind())
		return
	}
	word, pause, hasPause := strings.Cut(strings.ToLower(v.Text), "=")
	word, pause = strings.TrimSpace(word), strings.TrimSpace(pause)
	switch policy := SyncPolicy(word); {
	case policy == SyncAlways && !hasPause, policy == SyncOS && !hasPause:
		*s.policy, *s.interval = policy, 0
	case policy == SyncInterval && !hasPause:
		*s.policy, *s.interval = policy, DefaultSyncInterval
	case policy == SyncInterval:
		s.readPause(d, path, v, syntax.Scalar(pause, v.Pos))
	default: // a duration alone, as the incumbent has it
		s.readPause(d, path, v, v)
	}
}

// readPause reads the pause between syncs out of pause, which is v or a part
// of it.
func (s syncSlot) readPause(d *decoder, path string, v, pause *syntax.Value) {
	t, unitless, ok := pause.Duration()
	switch {
	case !ok:
		d.wrong(path, v, s.kind())
		return
	case t <= 0:
		d.Fail(v.Pos, "%s: the pause between syncs must be more than 0; write always or os to have none", path)
		return
	case unitless:
		d.Deprecate(v.Pos, "%s: %s has no unit and counts seconds; write \"%ss\"", path, pause.Text, pause.Text)
	}
	*s.policy, *s.interval = SyncInterval, t
}

func (s syncSlot) take(from slot) bool {
	f, ok := from.(syncSlot)
	return takeValue(s.policy, f.policy, ok) && takeValue(s.interval, f.interval, ok)
}

// sizeOrNone takes a size, or for 0 the word none.
func sizeOrNone(place *int64) slot {
	size := storeSize(place)
	return special{
		size.kind() + ", or none",
		func(d *decoder, path string, v *syntax.Value) {
			switch {
			case v.IsScalar() && strings.EqualFold(v.Text, "none"):
				*place = 0
			case v.Kind != syntax.Integer && v.Kind != syntax.String || v.Binary().Kind != syntax.Integer:
				d.wrong(path, v, "a size like 4096 or 64MB, or none")
			default:
				size.read(d, path, v)
				*place = max(*place, 0)
			}
		},
		func() string {
			if *place == 0 {
				return "none"
			}
			return size.show()
		},
	}
}

// cipherSlot takes a cipher of encryption at rest, by either of its names.
type cipherSlot struct{ place *Cipher }

func (s cipherSlot) kind() string { return "chacha or aes" }
func (s cipherSlot) show() string { return string(*s.place) }

func (s cipherSlot) read(d *decoder, path string, v *syntax.Value) {
	names := map[string]Cipher{"chacha": CipherChaCha, "chachapoly": CipherChaCha, "aes": CipherAES}
	c, ok := names[strings.ToLower(v.Text)]
	if !ok || !v.IsScalar() {
		d.wrong(path, v, s.kind())
		return
	}
	*s.place = c
}

func (s cipherSlot) take(from slot) bool {
	f, ok := from.(cipherSlot)
	return takeValue(s.place, f.place, ok)
}
