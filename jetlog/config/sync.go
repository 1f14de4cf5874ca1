package config

import (
	"fmt"
	"strings"
	"time"
)

// MetadataSync is the key of a stream's metadata that says what an acknowledgement of the stream waits for.
const MetadataSync = "runnel.sync"

// Sync is what an acknowledgement waits for.
type Sync struct {
	Policy SyncPolicy
	// Interval is after which time at most a sync follows, with SyncInterval.
	Interval time.Duration
}

// SyncPolicy is a kind of Sync.
type SyncPolicy uint8

const (
	// SyncDefault: what the server is configured for.
	SyncDefault SyncPolicy = iota
	// SyncAlways: a sync.
	SyncAlways
	// SyncInterval: the write; a sync follows soon.
	SyncInterval
	// SyncOS: the write; when it is synced is left to the operating system.
	SyncOS
)

// ParseSync reads `always`, `os` or `interval=100ms`. The empty string is SyncDefault.
func ParseSync(text string) (Sync, error) {
	switch text {
	case "":
		return Sync{}, nil
	case "always":
		return Sync{Policy: SyncAlways}, nil
	case "os":
		return Sync{Policy: SyncOS}, nil
	}
	if value, ok := strings.CutPrefix(text, "interval="); ok {
		if d, err := time.ParseDuration(value); err == nil && d > 0 {
			return Sync{Policy: SyncInterval, Interval: d}, nil
		}
	}
	return Sync{}, fmt.Errorf("sync policy %q is none of always, os and interval=100ms", text)
}

// Sync returns the policy of the stream. One that cannot be read is SyncAlways, which promises most.
func (s *Stream) Sync() Sync {
	policy, err := ParseSync(s.Metadata[MetadataSync])
	if err != nil {
		return Sync{Policy: SyncAlways}
	}
	return policy
}
