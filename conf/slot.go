package conf

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"runnel/conf/syntax"
)

// The slots of values without keys below them. Each constructor names what it
// accepts; see [slot].

// textSlot takes any scalar as it is written, so that a password of digits or
// a server called `on` is what it looks like.
type textSlot struct{ place *string }

func text(place *string) slot { return textSlot{place} }

func (s textSlot) kind() string { return "string" }
func (s textSlot) show() string { return *s.place }

func (s textSlot) read(d *decoder, path string, v *syntax.Value) {
	if !v.IsScalar() {
		d.wrong(path, v, "a string")
		return
	}
	*s.place = v.Text
}

// choiceSlot takes one of a few words, in any case.
type choiceSlot[S ~string] struct {
	place *S
	words []S
}

func choice[S ~string](place *S, words ...S) slot { return choiceSlot[S]{place, words} }

func (s choiceSlot[S]) kind() string { return "one of " + strings.Join(s.strings(), ", ") }
func (s choiceSlot[S]) show() string { return string(*s.place) }

func (s choiceSlot[S]) strings() []string {
	words := make([]string, len(s.words))
	for i, w := range s.words {
		words[i] = string(w)
	}
	return words
}

func (s choiceSlot[S]) read(d *decoder, path string, v *syntax.Value) {
	i := slices.IndexFunc(s.words, func(w S) bool { return v.IsScalar() && strings.EqualFold(string(w), v.Text) })
	if i < 0 {
		d.wrong(path, v, s.kind())
		return
	}
	*s.place = s.words[i]
}

// flagSlot takes a boolean.
type flagSlot struct{ place *bool }

func flag(place *bool) slot { return flagSlot{place} }

func (s flagSlot) kind() string { return "boolean" }
func (s flagSlot) show() string { return strconv.FormatBool(*s.place) }

func (s flagSlot) read(d *decoder, path string, v *syntax.Value) {
	if v.Kind != syntax.Boolean {
		d.wrong(path, v, "true or false")
		return
	}
	*s.place = v.Boolean
}

// numberSlot takes an integer between two bounds. With binary set it is a
// size that may also be a string, whose suffixes are powers of 1024.
type numberSlot[N ~int | ~int64] struct {
	place    *N
	min, max int64
	size     bool
	binary   bool
}

// count is any number that is not a size; its bounds are included.
func count[N ~int | ~int64](place *N, minimum, maximum int64) slot {
	return numberSlot[N]{place: place, min: minimum, max: maximum}
}

// size is a number of bytes.
func size[N ~int | ~int64](place *N, minimum, maximum int64) slot {
	return numberSlot[N]{place: place, min: minimum, max: maximum, size: true}
}

// storeSize is a number of bytes, or a string like "1G".
func storeSize(place *int64) slot {
	return numberSlot[int64]{place: place, min: -1, max: maxSize, size: true, binary: true}
}

const (
	maxSize  = 1<<63 - 1
	maxCount = 1<<31 - 1 // fits an int on every machine
	maxPort  = 1<<16 - 1
)

func (s numberSlot[N]) kind() string {
	if s.size {
		return "size in bytes"
	}
	return "number"
}

func (s numberSlot[N]) show() string { return strconv.FormatInt(int64(*s.place), 10) }

func (s numberSlot[N]) read(d *decoder, path string, v *syntax.Value) {
	n := v
	if s.binary && v.Kind == syntax.String {
		n = v.Binary()
	}
	switch {
	case n.Kind != syntax.Integer && s.size:
		d.wrong(path, v, "a size like 4096 or 64MB")
	case n.Kind != syntax.Integer:
		d.wrong(path, v, "a number")
	case n.OutOfRange || n.Number < s.min || n.Number > s.max:
		d.Fail(v.Pos, "%s: %s is out of range, it must be %s", path, syntax.Shorten(v.Text), bounds(s.min, s.max))
	default:
		*s.place = N(n.Number)
	}
}

// bounds puts a range into words.
func bounds(minimum, maximum int64) string {
	if maximum == maxSize {
		return fmt.Sprintf("%d or more", minimum)
	}
	return fmt.Sprintf("between %d and %d", minimum, maximum)
}

// durationSlot takes a duration like "2m" of at least min. A number without a
// unit counts seconds, which deserves a warning unless plain is set.
type durationSlot struct {
	place *time.Duration
	min   time.Duration
	plain bool
}

func duration(place *time.Duration) slot { return durationSlot{place: place} }

// seconds is a duration for which a number of seconds is as good.
func seconds(place *time.Duration) slot { return durationSlot{place: place, plain: true} }

// durationOrNever is a duration that may be negative, for never.
func durationOrNever(place *time.Duration) slot {
	return durationSlot{place: place, min: -1 << 63, plain: true}
}

func (s durationSlot) kind() string { return "duration" }

func (s durationSlot) show() string { return syntax.ShowDuration(*s.place) }

func (s durationSlot) read(d *decoder, path string, v *syntax.Value) {
	t, unitless, ok := v.Duration()
	switch {
	case !ok:
		d.wrong(path, v, `a duration like "30s" or "2m"`)
	case t < s.min:
		d.Fail(v.Pos, "%s: the duration %s must not be negative", path, v.Text)
	default:
		if unitless && !s.plain && t != 0 {
			d.Deprecate(v.Pos, "%s: %s has no unit and counts seconds; write \"%ss\"", path, v.Text, v.Text)
		}
		*s.place = t
	}
}

// listSlot takes a list of strings; a single one stands for a list of one.
type listSlot struct{ place *[]string }

func list(place *[]string) slot { return listSlot{place} }

func (s listSlot) kind() string { return "list of strings" }
func (s listSlot) show() string { return showList(*s.place) }

func showList(items []string) string {
	if len(items) == 0 {
		return ""
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func (s listSlot) read(d *decoder, path string, v *syntax.Value) {
	items := []string{}
	each(v, func(item *syntax.Value) {
		if !item.IsScalar() {
			d.wrong(path, item, "a string")
			return
		}
		items = append(items, item.Text)
	})
	*s.place = items
}

// each calls read for each item of a list, or for v itself when it is none.
func each(v *syntax.Value, read func(item *syntax.Value)) {
	if v.Kind != syntax.Array {
		read(v)
		return
	}
	for _, item := range v.Items {
		read(item)
	}
}

// textsSlot takes a map from names to strings, flagsSlot one to booleans.
type textsSlot struct{ place *map[string]string }

func texts(place *map[string]string) slot { return textsSlot{place} }

func (s textsSlot) kind() string { return "block of strings" }
func (s textsSlot) show() string { return showMap(*s.place) }

func (s textsSlot) read(d *decoder, path string, v *syntax.Value) {
	m := map[string]string{}
	d.readNames(path, v, func(path string, f *syntax.Field) {
		var t string
		text(&t).read(d, path, f.Value)
		m[f.Key] = t
	})
	*s.place = m
}

type flagsSlot struct{ place *map[string]bool }

func flags(place *map[string]bool) slot { return flagsSlot{place} }

func (s flagsSlot) kind() string { return "block of booleans" }
func (s flagsSlot) show() string { return showMap(*s.place) }

func (s flagsSlot) read(d *decoder, path string, v *syntax.Value) {
	m := map[string]bool{}
	d.readNames(path, v, func(path string, f *syntax.Field) {
		var b bool
		flag(&b).read(d, path, f.Value)
		m[f.Key] = b
	})
	*s.place = m
}

// showMap prints a map by its keys in order, as fmt does.
func showMap[V any](m map[string]V) string {
	if len(m) == 0 {
		return ""
	}
	return strings.TrimPrefix(fmt.Sprint(m), "map")
}

// addressSlot takes `host:port` or a port alone.
type addressSlot struct {
	host *string
	port *int
}

func address(host *string, port *int) slot { return addressSlot{host, port} }

func (s addressSlot) kind() string { return `"host:port" or a port` }

func (s addressSlot) show() string {
	if *s.port == 0 {
		return ""
	}
	return net.JoinHostPort(*s.host, strconv.Itoa(*s.port))
}

func (s addressSlot) read(d *decoder, path string, v *syntax.Value) {
	if v.Kind == syntax.Integer {
		count(s.port, -1, maxPort).read(d, path, v)
		return
	}
	host, port, err := net.SplitHostPort(v.Text)
	n, nerr := strconv.Atoi(port)
	if !v.IsScalar() || err != nil || nerr != nil || n < -1 || n > maxPort {
		d.wrong(path, v, `"host:port" or a port number up to 65535`)
		return
	}
	*s.host, *s.port = host, n
}

// secretSlot keeps a value out of everything that is shown.
type secretSlot struct{ slot }

func secret(s slot) slot { return secretSlot{s} }

// redacted stands for secrets, see [Change].
const redacted = "[REDACTED]"

func (s secretSlot) redacted() string {
	if s.show() == "" {
		return ""
	}
	return redacted
}

// redacter is a slot whose value must not be shown as it is.
type redacter interface{ redacted() string }

// shadowSlot is another way to write what other keys hold, so comparing and
// listing values leaves it out.
type shadowSlot struct{ slot }

func shadow(s slot) slot { return shadowSlot{s} }

// described is a slot whose default is better put in words than shown.
type described struct {
	slot
	words string
}

func orElse(s slot, words string) slot { return described{s, words} }
