package config_test

import (
	"testing"
	"time"

	"runnel/jetlog/config"
)

func TestSync(t *testing.T) {
	for text, want := range map[string]config.Sync{
		"":               {},
		"always":         {Policy: config.SyncAlways},
		"os":             {Policy: config.SyncOS},
		"interval=100ms": {Policy: config.SyncInterval, Interval: 100 * time.Millisecond},
		"interval=2s":    {Policy: config.SyncInterval, Interval: 2 * time.Second},
	} {
		got, err := config.ParseSync(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
		stream := config.Stream{Metadata: map[string]string{config.MetadataSync: text}}
		if got := stream.Sync(); got != want {
			t.Errorf("stream with %q: %+v, want %+v", text, got, want)
		}
	}
	if got := (&config.Stream{}).Sync(); got != (config.Sync{}) {
		t.Errorf("stream without metadata: %+v", got)
	}
	for _, text := range []string{"Always", "never", "interval", "interval=", "interval=0s", "interval=-1s", "interval=5", "os "} {
		if got, err := config.ParseSync(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
		stream := config.Stream{Metadata: map[string]string{config.MetadataSync: text}}
		if got := stream.Sync(); got.Policy != config.SyncAlways {
			t.Errorf("stream with %q: %+v", text, got)
		}
	}
}
