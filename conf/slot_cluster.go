package conf

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"runnel/conf/syntax"
)

// The slots of clusters that have forms of their own.

// writeTimeout takes a policy of [WriteTimeout].
func writeTimeout(place *WriteTimeout) slot {
	return choice(place, WriteTimeoutDefault, WriteTimeoutClose, WriteTimeoutRetry)
}

// urlsSlot takes a list of URLs, which may hold passwords.
type urlsSlot struct{ listSlot }

func urls(place *[]string) slot { return urlsSlot{listSlot{place}} }

func (s urlsSlot) kind() string { return "list of URLs" }

func (s urlsSlot) read(d *decoder, path string, v *syntax.Value) {
	s.listSlot.read(d, path, v)
	for i, item := range slices.Clone(*s.place) {
		if u, err := url.Parse(item); err != nil || u.Host == "" {
			pos := v.Pos
			if v.Kind == syntax.Array && i < len(v.Items) {
				pos = v.Items[i].Pos
			}
			d.Fail(pos, "%s: expected a URL like nats://host:port, got %q", path, syntax.Shorten(redactURL(item)))
		}
	}
}

// redacted is the list without passwords.
func (s urlsSlot) redacted() string {
	shown := make([]string, len(*s.place))
	for i, item := range *s.place {
		shown[i] = redactURL(item)
	}
	return showList(shown)
}

// urlSlot takes a URL, which may hold a password or a token.
type urlSlot struct {
	slot
	place *string
}

func oneURL(place *string) slot { return urlSlot{text(place), place} }

// redacted is the URL without a password.
func (s urlSlot) redacted() string { return redactURL(*s.place) }

// redactURL replaces what stands before the host of a URL, even a broken one, and its query.
func redactURL(s string) string {
	if i := strings.IndexByte(s, '?'); i >= 0 {
		s = s[:i+1] + redacted
	}
	scheme, rest, found := strings.Cut(s, "://")
	if !found {
		scheme, rest = "", s
	} else {
		scheme += "://"
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = redacted + rest[i:]
	}
	return scheme + rest
}

// compressionModes are those of [Compression.Mode].
var compressionModes = []string{"off", "accept", "s2_fast", "s2_better", "s2_best", "s2_auto"}

// compressionMode takes a mode, or a boolean.
func compressionMode(place *string) slot {
	modes := choice(place, compressionModes...)
	return special{
		modes.kind(),
		func(d *decoder, path string, v *syntax.Value) {
			switch {
			case v.Kind != syntax.Boolean:
				modes.read(d, path, v)
			case v.Boolean:
				*place = "s2_auto"
			default:
				*place = "off"
			}
		},
		modes.show,
	}
}

// compression takes a mode or a block.
func compression(place *Compression, mode string) slot {
	return part(place, compressionKeys, newCompression(mode)).or("a mode",
		func(d *decoder, path string, v *syntax.Value, c *Compression) (*Compression, bool) {
			if v.IsScalar() {
				compressionMode(&c.Mode).read(d, path, v)
			}
			return c, v.IsScalar()
		})
}

// durations takes a list of durations.
func durations(place *[]time.Duration) slot {
	return special{
		"list of durations",
		func(d *decoder, path string, v *syntax.Value) {
			times := []time.Duration{}
			each(v, func(item *syntax.Value) {
				var t time.Duration
				duration(&t).read(d, path, item)
				times = append(times, t)
			})
			*place = times
		},
		func() string {
			shown := make([]string, len(*place))
			for i, t := range *place {
				shown[i] = syntax.ShowDuration(t)
			}
			return showList(shown)
		},
	}
}

// migrateKeys are those of `jetstream_cluster_migrate` in its long form.
var migrateKeys = []key[RemoteLeaf]{
	row("leader_migrate_delay", reloadInherit, "Wait before the leaders are moved.",
		func(r *RemoteLeaf) slot { return duration(&r.LeaderMigrateDelay) }),
}

// migrate takes a boolean, or a block that also says how long to wait.
func migrate(r *RemoteLeaf) slot {
	return blockSlot[RemoteLeaf]{
		current: r,
		set:     func(t *RemoteLeaf) { r.ClusterMigrate, r.LeaderMigrateDelay = t.ClusterMigrate, t.LeaderMigrateDelay },
		keys:    migrateKeys,
		fresh:   func() *RemoteLeaf { return &RemoteLeaf{ClusterMigrate: true} },
		present: func(t *RemoteLeaf) bool { return t.ClusterMigrate },
	}.or("a boolean", func(_ *decoder, _ string, v *syntax.Value, t *RemoteLeaf) (*RemoteLeaf, bool) {
		t.ClusterMigrate = v.Boolean
		return t, v.Kind == syntax.Boolean
	})
}
