package memory_test

import (
	"errors"
	"io/fs"
	"math"
	"runtime/debug"
	"testing"

	"runnel/server/memory"
)

// files is a file system that is a map.
func files(of map[string]string) memory.ReadFile {
	return func(name string) ([]byte, error) {
		if text, ok := of[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}
}

func TestContainer(t *testing.T) {
	const self, v2, v1 = "/proc/self/cgroup", "/sys/fs/cgroup", "/sys/fs/cgroup/memory"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing is known", nil, 0},
		{"not told which group", map[string]string{v2 + "/memory.max": "1048576\n"}, 1 << 20},
		{"not told which group, version 1", map[string]string{v1 + "/memory.limit_in_bytes": "1048576\n"}, 1 << 20},
		{"the root", map[string]string{self: "0::/\n", v2 + "/memory.max": "1048576\n"}, 1 << 20},
		{"no limit", map[string]string{self: "0::/a\n", v2 + "/a/memory.max": "max\n"}, 0},
		{"its own", map[string]string{self: "0::/a/b\n", v2 + "/a/b/memory.max": "4096\n"}, 4096},
		{"that of a parent", map[string]string{self: "0::/a/b/c\n", v2 + "/a/memory.max": "4096\n", v2 + "/a/b/c/memory.max": "max\n"}, 4096},
		{"a parent's is smaller", map[string]string{self: "0::/a/b\n", v2 + "/a/memory.max": "4096\n", v2 + "/a/b/memory.max": "8192\n"}, 4096},
		{"its own is smaller", map[string]string{self: "0::/a/b\n", v2 + "/a/memory.max": "8192\n", v2 + "/a/b/memory.max": "4096\n"}, 4096},
		{"another group's", map[string]string{self: "0::/a\n", v2 + "/b/memory.max": "4096\n"}, 0},
		{"the path from outside", map[string]string{self: "0::/docker/x\n", v2 + "/memory.max": "4096\n"}, 4096},
		{"version 1", map[string]string{self: "5:cpu:/c\n4:memory:/a\n0::/z\n", v1 + "/a/memory.limit_in_bytes": "4096\n"}, 4096},
		{"version 1, with others", map[string]string{self: "4:cpu,memory:/a\n", v1 + "/a/memory.limit_in_bytes": "4096\n"}, 4096},
		{"version 1 without a limit", map[string]string{self: "4:memory:/a\n", v1 + "/a/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		{"nonsense", map[string]string{self: "what\n::\n0::\n", v2 + "/memory.max": "many\n"}, 0},
		{"a path that goes up", map[string]string{self: "0::/../..\n", v2 + "/memory.max": "4096\n"}, 4096},
	} {
		if got := memory.Container(files(tt.files)); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func FuzzContainer(f *testing.F) {
	f.Add("0::/a/b\n4:memory:/c", "4096")
	f.Add("0::../..", "max")
	f.Fuzz(func(t *testing.T, group, limit string) {
		got := memory.Container(func(name string) ([]byte, error) {
			if name == "/proc/self/cgroup" {
				return []byte(group), nil
			}
			return []byte(limit), nil
		})
		if got < 0 {
			t.Errorf("got %d", got)
		}
	})
}

func TestMachine(t *testing.T) {
	for text, want := range map[string]int64{
		"MemTotal:       16384 kB\nMemFree: 1 kB\n": 16 << 20,
		"MemTotal: many kB":                         0,
		"MemTotal: 163":                             0,
		"MemTotal: 9223372036854775807 kB":          0,
		"":                                          0,
	} {
		if got := memory.Machine(files(map[string]string{"/proc/meminfo": text})); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
	if got := memory.Machine(files(nil)); got != 0 {
		t.Errorf("without the file: got %d", got)
	}
}

func TestWritten(t *testing.T) {
	machine := map[string]string{"/proc/meminfo": "MemTotal: 4194304 kB\n"}
	container := map[string]string{"/proc/meminfo": "MemTotal: 4194304 kB\n", "/sys/fs/cgroup/memory.max": "1073741824"}
	for _, tt := range []struct {
		name        string
		limit       memory.Limit
		files       map[string]string
		bytes, goal int64
		err         error
	}{
		{"nothing", memory.Limit{}, machine, 0, 0, nil},
		{"bytes", memory.Limit{Bytes: 1000 << 20}, nil, 1000 << 20, 900 << 20, nil},
		{"few bytes", memory.Limit{Bytes: 64 << 20}, nil, 64 << 20, 32 << 20, nil},
		{"many bytes", memory.Limit{Bytes: 100 << 30}, nil, 100 << 30, 100<<30 - 512<<20, nil},
		{"too few bytes", memory.Limit{Bytes: 1 << 20}, nil, 0, 0, memory.ErrSmall},
		{"a part of the machine", memory.Limit{Percent: 50}, machine, 4 << 30 / 100 * 50, 0, nil},
		{"a part of the container", memory.Limit{Percent: 50}, container, 1 << 30 / 100 * 50, 0, nil},
		{"a part of something", memory.Limit{Percent: 50}, nil, 0, 0, memory.ErrUnknown},
	} {
		got, err := tt.limit.Written(files(tt.files))
		if got.Bytes != tt.bytes || !errors.Is(err, tt.err) || tt.goal > 0 && got.GoalBytes != tt.goal || got.GoalBytes > got.Bytes {
			t.Errorf("%s: got %+v, %v, want %d bytes, a goal of %d, %v", tt.name, got, err, tt.bytes, tt.goal, tt.err)
		}
	}
}

// TestGiven: without a word the container counts, or else what Go was told.
func TestGiven(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	if got := memory.Given(files(map[string]string{"/proc/meminfo": "MemTotal: 4194304 kB\n"})); got != (memory.Budget{}) {
		t.Errorf("a machine: got %+v, want no budget", got)
	}
	if got := memory.Given(files(map[string]string{"/sys/fs/cgroup/memory.max": "1048576000"})); got.Bytes != 1048576000 || got.Origin != memory.OfContainer {
		t.Errorf("a container: got %+v", got)
	}
	if got := memory.Given(files(map[string]string{"/sys/fs/cgroup/memory.max": "4096"})); got.Bytes != memory.LeastBytes {
		t.Errorf("a tiny container: got %+v, want the least", got)
	}
	debug.SetMemoryLimit(1 << 30)
	if got := memory.Given(files(nil)); got.GoalBytes != 1<<30 || got.Bytes <= got.GoalBytes || got.Origin != memory.OfGo {
		t.Errorf("GOMEMLIMIT: got %+v", got)
	}
}

// TestApply: Go is told, unless it was told something before that is less than there is.
func TestApply(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	if (memory.Budget{}).Apply(); debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Error("no budget has set a limit")
	}
	b, err := memory.Limit{Bytes: 4 << 30}.Written(files(nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Apply(); got != b || debug.SetMemoryLimit(-1) != b.GoalBytes {
		t.Errorf("got %+v and a limit of %d, want %+v", got, debug.SetMemoryLimit(-1), b)
	}
	debug.SetMemoryLimit(3 << 30)
	if got := b.Apply(); got.GoalBytes != 3<<30 || debug.SetMemoryLimit(-1) != 3<<30 {
		t.Errorf("after GOMEMLIMIT: got %+v, want its goal", got)
	}
	debug.SetMemoryLimit(5 << 30)
	if got := b.Apply(); got != b || debug.SetMemoryLimit(-1) != b.GoalBytes {
		t.Errorf("after a GOMEMLIMIT above the budget: got %+v and a limit of %d, want %+v", got, debug.SetMemoryLimit(-1), b)
	}
}

// TestShares: together they leave a part of the budget, whatever its size.
func TestShares(t *testing.T) {
	if got := (memory.Budget{}).Shares(); got != (memory.Shares{}) {
		t.Errorf("no budget: got %+v", got)
	}
	for _, bytes := range []int64{memory.LeastBytes, 256 << 20, 1 << 30, 64 << 30} {
		b, err := memory.Limit{Bytes: bytes}.Written(files(nil))
		if err != nil {
			t.Fatal(err)
		}
		s := b.Shares()
		if s.FlushBytes <= 0 || s.CacheBytes <= 0 || s.IngestBytes <= 0 || s.StreamsBytes <= 0 || s.WaitingBytes <= 0 {
			t.Errorf("%d bytes: got %+v", bytes, s)
		}
		// Replicas may fill twice what publishers may.
		if most := 2*s.TablesBytes + s.CacheBytes + s.IngestBytes; most > b.GoalBytes*3/5 {
			t.Errorf("%d bytes: %+v takes %d, which leaves too little of %d", bytes, s, most, b.GoalBytes)
		}
	}
}
