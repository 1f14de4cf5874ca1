package monitor

import (
	"strconv"
	"strings"
	"time"
)

// uptime writes a duration for people, in whole seconds from the largest unit that is not zero downward:
// "4s", "3m4s", "1d2h3m4s", "1y0d2h3m4s" (a year has 365 days).
func uptime(d time.Duration) string {
	seconds := max(int64(d/time.Second), 0)
	units := []struct {
		name string
		size int64
	}{{"y", 365 * 86400}, {"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}}
	var b strings.Builder
	for _, u := range units {
		n := seconds / u.size
		seconds %= u.size
		if n > 0 || b.Len() > 0 || u.name == "s" {
			b.WriteString(strconv.FormatInt(n, 10))
			b.WriteString(u.name)
		}
	}
	return b.String()
}
