package conf_test

import (
	"strings"
	"testing"

	"runnel/conf"
)

func TestMemoryLimit(t *testing.T) {
	for _, test := range []struct {
		text    string
		bytes   int64
		percent int
	}{
		{"", 0, 0},
		{"memory_limit: 0", 0, 0},
		{"memory_limit: 536870912", 512 << 20, 0},
		{"memory_limit: 512MiB", 512 << 20, 0},
		{`memory_limit: "1G"`, 1 << 30, 0},
		{"memory_limit: 80%", 0, 80},
		{`memory_limit: "80 %"`, 0, 80},
		{"memory_limit: 100%", 0, 100},
		{"memory_limit: 80%\nmemory_limit: 512MiB", 512 << 20, 0},
		{"memory_limit: 512MiB\nmemory_limit: 80%", 0, 80},
	} {
		o := parse(t, test.text)
		if o.Limits.MemoryBytes != test.bytes || o.Limits.MemoryPercent != test.percent {
			t.Errorf("%q: %d bytes, %d%%, want %d and %d%%", test.text, o.Limits.MemoryBytes, o.Limits.MemoryPercent, test.bytes, test.percent)
		}
	}
	for _, text := range []string{"0%", "101%", "-5%", "x%", "%", `"8 0%"`, "-1", "lots", "[1]", "{a: 1}", "true"} {
		if _, err := conf.Parse("c.conf", []byte("memory_limit: "+text)); err == nil || !strings.Contains(err.Error(), "memory_limit") {
			t.Errorf("memory_limit: %s: error %v, want one about memory_limit", text, err)
		}
	}
}

// TestMemoryLimitShown: a change is told as it is written.
func TestMemoryLimitShown(t *testing.T) {
	changes := conf.Diff(parse(t, "memory_limit: 80%"), parse(t, "memory_limit: 1GiB"))
	if len(changes) != 1 || changes[0].Old != "80%" || changes[0].New != "1073741824" {
		t.Errorf("got %+v, want one change from 80%% to 1073741824", changes)
	}
}
