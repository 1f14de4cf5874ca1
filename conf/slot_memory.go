package conf

import (
	"strconv"
	"strings"

	"runnel/conf/syntax"
)

// shareSlot takes a part of the memory: a number of bytes, or a percentage. Only one of them is set afterwards.
type shareSlot struct {
	bytes   *int64
	percent *int
}

func share(bytes *int64, percent *int) slot { return shareSlot{bytes, percent} }

func (s shareSlot) kind() string { return "size in bytes, or a percentage" }

func (s shareSlot) show() string {
	if *s.percent > 0 {
		return strconv.Itoa(*s.percent) + "%"
	}
	return strconv.FormatInt(*s.bytes, 10)
}

func (s shareSlot) read(d *decoder, path string, v *syntax.Value) {
	digits, ok := strings.CutSuffix(v.Text, "%")
	if !ok || !v.IsScalar() {
		*s.percent = 0
		numberSlot[int64]{place: s.bytes, max: maxSize, size: true, binary: true}.read(d, path, v)
		return
	}
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	if err != nil || n < 1 || n > 100 {
		d.wrong(path, v, "a percentage between 1% and 100%, or a size like 512MB")
		return
	}
	*s.bytes, *s.percent = 0, n
}
