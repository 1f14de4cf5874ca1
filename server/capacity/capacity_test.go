package capacity

import (
	"io/fs"
	"math"
	"testing"

	"runnel/conf"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/server/memory"
)

func TestUsableMemory(t *testing.T) {
	const meminfo = "MemTotal:       16384 kB\nMemFree:         1234 kB\n"
	const v2, v1 = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
	for _, tt := range []struct {
		name  string
		limit int64
		files map[string]string
		want  int64
	}{
		{"nothing is known", math.MaxInt64, nil, 0},
		{"the machine", math.MaxInt64, map[string]string{"/proc/meminfo": meminfo}, 16 << 20},
		{"GOMEMLIMIT", 5000, map[string]string{"/proc/meminfo": meminfo}, 5000},
		{"a container", math.MaxInt64, map[string]string{"/proc/meminfo": meminfo, v2: "1048576\n"}, 1 << 20},
		{"a container without a limit", math.MaxInt64, map[string]string{"/proc/meminfo": meminfo, v2: "max\n"}, 16 << 20},
		{"an old container", math.MaxInt64, map[string]string{"/proc/meminfo": meminfo, v1: "2097152\n"}, 2 << 20},
		{"an old container without a limit", math.MaxInt64, map[string]string{"/proc/meminfo": meminfo, v1: "9223372036854771712\n"}, 16 << 20},
		{"only a container", math.MaxInt64, map[string]string{v2: "1048576\n"}, 1 << 20},
		{"a file of nonsense", math.MaxInt64, map[string]string{"/proc/meminfo": "MemTotal: many kB"}, 0},
		{"a file that breaks off", math.MaxInt64, map[string]string{"/proc/meminfo": "MemTotal: 163"}, 0},
		{"too large a number", math.MaxInt64, map[string]string{"/proc/meminfo": "MemTotal: 9223372036854775807 kB"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := usableMemory(tt.limit, func(name string) ([]byte, error) {
				if text, ok := tt.files[name]; ok {
					return []byte(text), nil
				}
				return nil, fs.ErrNotExist
			})
			if got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestThreeQuarters(t *testing.T) {
	for n, want := range map[int64]int64{100: 75, 1: 1, 0: -1, -5: -1, math.MaxInt64: -1, math.MaxInt64 - 1: math.MaxInt64 - 1 - (math.MaxInt64-1)/4} {
		if got := threeQuarters(n); got != want {
			t.Errorf("%d: got %d, want %d", n, got, want)
		}
	}
	if got := addBytes(math.MaxInt64, 1); got != math.MaxInt64 {
		t.Errorf("a sum above the largest number: got %d", got)
	}
	if got := addBytes(1, math.MaxUint64); got != math.MaxInt64 {
		t.Errorf("a sum that does not fit: got %d", got)
	}
	if got := addBytes(2, 3); got != 5 {
		t.Errorf("got %d, want 5", got)
	}
}

// TestCapacity wants what is written to win, and the rest from the machine.
func TestCapacity(t *testing.T) {
	dir := t.TempDir()
	opened, _, err := store.Open(store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	if got, want := Of(&conf.JetStream{MaxMemoryBytes: 5, MaxStoreBytes: 0}, vfs.Disk{}, dir, opened, memory.Shares{}), (Capacity{5, 0}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := Of(&conf.JetStream{MaxMemoryBytes: -1, MaxStoreBytes: -1}, vfs.Disk{}, dir, opened, memory.Shares{}); got.StoreBytes <= 0 {
		t.Errorf("from the machine: got %+v, want a part of the free disk", got)
	}
	shares := memory.Shares{StreamsBytes: 7}
	if got := Of(&conf.JetStream{MaxMemoryBytes: -1, MaxStoreBytes: 0}, vfs.Disk{}, dir, opened, shares); got.MemoryBytes != 7 {
		t.Errorf("from a budget: got %+v, want its share", got)
	}
	if got := Of(&conf.JetStream{MaxMemoryBytes: 5, MaxStoreBytes: 0}, vfs.Disk{}, dir, opened, shares); got.MemoryBytes != 5 {
		t.Errorf("written, with a budget: got %+v, want what is written", got)
	}
	if got := Of(&conf.JetStream{MaxStoreBytes: -1}, vfs.Disk{}, dir+"/gone", opened, memory.Shares{}); got.StoreBytes != -1 {
		t.Errorf("without a disk: got %+v, want no limit", got)
	}
}
