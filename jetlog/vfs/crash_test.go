package vfs_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"runnel/jetlog/vfs"
)

// show describes all files below dir, one "name=content" each.
func show(t *testing.T, fsys vfs.FS, dir string) string {
	t.Helper()
	entries, err := fsys.List(dir)
	ok(t, err)
	var all []string
	for _, e := range entries {
		name := strings.TrimPrefix(dir+"/"+e.Name, "/")
		if e.Dir {
			all = append(all, name+"/")
			if inner := show(t, fsys, name); inner != "" {
				all = append(all, inner)
			}
			continue
		}
		all = append(all, name+"="+read(t, fsys, name))
	}
	return strings.Join(all, " ")
}

// every walks through all sequences of choices: a counter whose digits have the bases that were asked for.
type every struct {
	digits, bases []int
	at            int
}

func (e *every) choose(n int) int {
	if e.at == len(e.digits) {
		e.digits, e.bases = append(e.digits, 0), append(e.bases, n)
	}
	e.at++
	return e.digits[e.at-1]
}

// next goes to the next sequence, if there is one.
func (e *every) next() bool {
	e.at = 0
	for last := len(e.digits) - 1; last >= 0; last-- {
		if e.digits[last]++; e.digits[last] < e.bases[last] {
			return true
		}
		e.digits, e.bases = e.digits[:last], e.bases[:last]
	}
	return false
}

// TestPowerCutStates goes through every state that a power cut may leave and compares with what the
// promises of the package say.
func TestPowerCutStates(t *testing.T) {
	safe := func(t *testing.T, m *vfs.Memory, name, content string) vfs.File {
		f := write(t, m, name, content)
		ok(t, f.Sync())
		ok(t, m.SyncDir("/"))
		return f
	}
	tests := []struct {
		name string
		do   func(t *testing.T, m *vfs.Memory)
		want []string
	}{
		{"synced", func(t *testing.T, m *vfs.Memory) { safe(t, m, "a", "x") }, []string{"a=x"}},
		{
			"a name that was not synced, of a file that was",
			func(t *testing.T, m *vfs.Memory) { ok(t, write(t, m, "a", "x").Sync()) },
			[]string{"", "a=x"},
		},
		{
			"a file that was not synced, with a name that was: length and bytes each for themselves",
			func(t *testing.T, m *vfs.Memory) { write(t, m, "a", "x"); ok(t, m.SyncDir("/")) },
			[]string{"a=", "a=\x00", "a=x"},
		},
		{
			"overwritten, torn at any byte",
			func(t *testing.T, m *vfs.Memory) { put(t, safe(t, m, "a", "1234"), "xyz", 1) },
			[]string{"a=1234", "a=1x34", "a=1xy4", "a=1xyz"},
		},
		{
			"each older state since the last sync",
			func(t *testing.T, m *vfs.Memory) {
				f := safe(t, m, "a", "1")
				put(t, f, "2", 0)
				put(t, f, "3", 0)
			},
			[]string{"a=1", "a=2", "a=3"},
		},
		{
			"two files in any combination",
			func(t *testing.T, m *vfs.Memory) {
				a, b := safe(t, m, "a", "1"), safe(t, m, "b", "1")
				put(t, a, "2", 0)
				put(t, b, "2", 0)
			},
			[]string{"a=1 b=1", "a=1 b=2", "a=2 b=1", "a=2 b=2"},
		},
		{
			"a rename, done or not done",
			func(t *testing.T, m *vfs.Memory) { safe(t, m, "a", "x"); ok(t, m.Rename("a", "b")) },
			[]string{"a=x", "b=x"},
		},
		{
			"a rename over another file",
			func(t *testing.T, m *vfs.Memory) {
				safe(t, m, "a", "x")
				safe(t, m, "b", "y")
				ok(t, m.Rename("a", "b"))
			},
			[]string{"a=x b=y", "b=x"},
		},
		{
			"a rename to another directory of which only the new one was synced",
			func(t *testing.T, m *vfs.Memory) {
				safe(t, m, "a", "x")
				ok(t, m.MkdirAll("d"))
				ok(t, m.SyncDir("/"))
				ok(t, m.Rename("a", "d/a"))
				ok(t, m.SyncDir("d"))
			},
			[]string{"a=x d/ d/a=x", "d/ d/a=x"},
		},
		{
			"a rename to another directory, neither synced: never both, never none",
			func(t *testing.T, m *vfs.Memory) {
				safe(t, m, "a", "x")
				ok(t, m.MkdirAll("d"))
				ok(t, m.SyncDir("/"))
				ok(t, m.Rename("a", "d/a"))
			},
			[]string{"a=x d/", "d/ d/a=x"},
		},
		{
			"removed",
			func(t *testing.T, m *vfs.Memory) { safe(t, m, "a", "x"); ok(t, m.Remove("a")) },
			[]string{"", "a=x"},
		},
		{
			"removed and made anew: each change for itself",
			func(t *testing.T, m *vfs.Memory) {
				safe(t, m, "a", "x")
				ok(t, m.Remove("a"))
				ok(t, write(t, m, "a", "y").Sync())
			},
			[]string{"", "a=x", "a=y"},
		},
		{
			"removed and made anew, then synced",
			func(t *testing.T, m *vfs.Memory) {
				safe(t, m, "a", "x")
				ok(t, m.Remove("a"))
				safe(t, m, "a", "y")
			},
			[]string{"a=y"},
		},
		{
			"a directory that was not synced takes what is in it along",
			func(t *testing.T, m *vfs.Memory) {
				ok(t, m.MkdirAll("d"))
				ok(t, write(t, m, "d/a", "x").Sync())
				ok(t, m.SyncDir("d"))
			},
			[]string{"", "d/ d/a=x"},
		},
		{
			"cut",
			func(t *testing.T, m *vfs.Memory) { ok(t, safe(t, m, "a", "12").Truncate(1)) },
			[]string{"a=1", "a=12", "a=1\x00"},
		},
		{
			"after a failed sync a good one makes nothing safer",
			func(t *testing.T, m *vfs.Memory) {
				safe(t, m, "a", "1")
				fault := vfs.NewFault(m)
				f, err := fault.OpenReadWrite("a")
				ok(t, err)
				put(t, f, "2", 0)
				fault.Fail(vfs.Rule{Kinds: vfs.OpSync})
				if f.Sync() == nil {
					t.Error("the sync did not fail")
				}
				ok(t, f.Sync())
				if got := read(t, m, "a"); got != "2" {
					t.Errorf("readers see %q, want 2", got)
				}
			},
			[]string{"a=1", "a=2"},
		},
		{
			"after a failed sync a new write and a good one do",
			func(t *testing.T, m *vfs.Memory) {
				safe(t, m, "a", "1")
				fault := vfs.NewFault(m)
				f, err := fault.OpenReadWrite("a")
				ok(t, err)
				put(t, f, "2", 0)
				fault.Fail(vfs.Rule{Kinds: vfs.OpSyncData})
				if f.SyncData() == nil {
					t.Error("the sync did not fail")
				}
				put(t, f, "3", 0)
				ok(t, f.SyncData())
			},
			[]string{"a=3"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := vfs.NewMemory()
			tt.do(t, m)
			found := map[string]bool{}
			for e := (&every{}); ; {
				found[show(t, m.PowerCut(e.choose), "")] = true
				if !e.next() {
					break
				}
			}
			slices.Sort(tt.want)
			if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, tt.want) {
				t.Errorf("states after a power cut:\n got %q\nwant %q", got, tt.want)
			}
			if got, want := show(t, m.PowerCut(vfs.Keep), ""), show(t, m, ""); got != want {
				t.Errorf("Keep leaves %q, want all: %q", got, want)
			}
			if got, want := show(t, m.Kill(), ""), show(t, m, ""); got != want {
				t.Errorf("Kill leaves %q, want all: %q", got, want)
			}
		})
	}
}

func TestPowerCutPagesAndSectors(t *testing.T) {
	const pages, sector = 3, 512
	m := vfs.NewMemory()
	f := write(t, m, "a", strings.Repeat("1", pages*4096))
	ok(t, f.Sync())
	ok(t, m.SyncDir("/"))
	put(t, f, strings.Repeat("2", pages*4096), 0)
	var holes, tornSectors bool
	for seed := range uint64(200) {
		b := read(t, m.PowerCut(vfs.Random(seed)), "a")
		if b[0] == '2' && b[4096] == '1' && b[8192] == '2' {
			holes = true
		}
		if p := b[:4096]; p[0] == '2' && p[sector] == '1' && strings.Contains(p[sector:], "2") {
			tornSectors = true
		}
	}
	if !holes || !tornSectors {
		t.Errorf("200 power cuts: a lost page between two kept %v, a lost sector between two kept %v, want both", holes, tornSectors)
	}
}

// TestLostTailIsZeros: what lay behind the end of a file that lost its new length does not come back when
// the file grows again.
func TestLostTailIsZeros(t *testing.T) {
	m := vfs.NewMemory()
	f := write(t, m, "a", "12")
	ok(t, f.Sync())
	ok(t, m.SyncDir("/"))
	put(t, f, "345", 2)
	asked := 0
	short := m.PowerCut(func(n int) int {
		if asked++; asked == 1 { // the length
			return 0
		}
		return n - 1
	})
	if got := read(t, short, "a"); got != "12" {
		t.Fatalf("the file is %q, want 12", got)
	}
	f, err := short.OpenReadWrite("a")
	ok(t, err)
	ok(t, f.Truncate(4))
	if got, want := read(t, short, "a"), "12\x00\x00"; got != want {
		t.Errorf("after growing again: %q, want %q", got, want)
	}
}

func TestKilledProcess(t *testing.T) {
	m := vfs.NewMemory()
	f := write(t, m, "a", "1")
	ok(t, f.Sync())
	ok(t, m.SyncDir("/"))
	put(t, f, "2", 0)
	lock, err := m.Lock("/")
	ok(t, err)
	next := m.Kill()
	put(t, f, "3", 0) // by the dead process: nobody sees it
	if got := read(t, next, "a"); got != "2" {
		t.Errorf("after a kill: %q, want 2", got)
	}
	relock, err := next.Lock("/")
	ok(t, err)
	if got := read(t, next.PowerCut(vfs.Lose), "a"); got != "1" {
		t.Errorf("after a kill and a power cut: %q, want 1", got)
	}
	g, err := next.OpenReadWrite("a")
	ok(t, err)
	ok(t, g.Sync()) // another handle's writes are synced too
	if got := read(t, next.PowerCut(vfs.Lose), "a"); got != "2" {
		t.Errorf("after a kill, a sync and a power cut: %q, want 2", got)
	}
	ok(t, lock.Close())
	ok(t, relock.Close())
}

// modelFile is what the model knows of one file: every length and every value of each byte since the
// last sync, of which the first is safe.
type modelFile struct {
	sizes []int
	bytes [modelBytes][]byte
}

const modelBytes = 10_000

func newModelFile() *modelFile {
	f := &modelFile{sizes: []int{0}}
	for i := range f.bytes {
		f.bytes[i] = []byte{0}
	}
	return f
}

func last[T any](s []T) T { return s[len(s)-1] }

func (f *modelFile) write(at, n int, value byte) {
	for i := range n {
		f.bytes[at+i] = append(f.bytes[at+i], value)
	}
	f.sizes = append(f.sizes, max(last(f.sizes), at+n))
}

func (f *modelFile) truncate(size int) {
	for i := size; i < modelBytes; i++ {
		f.bytes[i] = append(f.bytes[i], 0)
	}
	f.sizes = append(f.sizes, size)
}

func (f *modelFile) sync() {
	f.sizes = []int{last(f.sizes)}
	for i := range f.bytes {
		f.bytes[i] = []byte{last(f.bytes[i])}
	}
}

// check compares a file that was found with the model; state says which of the versions are allowed.
func (f *modelFile) check(found string, state func([]byte) []byte, sizes []int) error {
	if !slices.Contains(sizes, len(found)) {
		return fmt.Errorf("%d bytes long, want one of %d", len(found), sizes)
	}
	for i := range len(found) {
		if allowed := state(f.bytes[i]); !slices.Contains(allowed, found[i]) && !slices.Contains(f.behind(i, sizes), found[i]) {
			return fmt.Errorf("byte %d is %d, want one of %d", i, found[i], allowed)
		}
	}
	return nil
}

// behind is zero for a byte that is behind the end of one of the allowed sizes.
func (f *modelFile) behind(i int, sizes []int) []byte {
	if i >= slices.Min(sizes) {
		return []byte{0}
	}
	return nil
}

// TestPowerCutModel compares random operations and power cuts with a model that knows single bytes.
func TestPowerCutModel(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		m, model := vfs.NewMemory(), newModelFile()
		f := write(t, m, "f", "")
		ok(t, m.SyncDir("/"))
		for step := range 40 {
			switch at := r.IntN(modelBytes); r.IntN(8) {
			case 0:
				ok(t, f.Sync())
				model.sync()
			case 1:
				ok(t, f.Truncate(int64(at)))
				model.truncate(at)
			case 2:
				m = m.Kill()
				var err error
				f, err = m.OpenReadWrite("f")
				ok(t, err)
			case 3: // zeros of whole pages are kept without memory
				n := min(modelBytes-at, 4096)
				put(t, f, string(make([]byte, n)), int64(at))
				model.write(at, n, 0)
			default:
				n, value := r.IntN(min(modelBytes-at, 5000)+1), byte(1+r.IntN(255))
				if n == 0 {
					continue
				}
				put(t, f, strings.Repeat(string([]byte{value}), n), int64(at))
				model.write(at, n, value)
			}
			first := func(v []byte) []byte { return v[:1] }
			all := func(v []byte) []byte { return v }
			now := func(v []byte) []byte { return v[len(v)-1:] }
			for name, err := range map[string]error{
				"reading": model.check(read(t, m, "f"), now, model.sizes[len(model.sizes)-1:]),
				"lose":    model.check(read(t, m.PowerCut(vfs.Lose), "f"), first, model.sizes[:1]),
				"keep":    model.check(read(t, m.PowerCut(vfs.Keep), "f"), now, model.sizes[len(model.sizes)-1:]),
				"random":  model.check(read(t, m.PowerCut(vfs.Random(uint64(step))), "f"), all, model.sizes),
			} {
				if err != nil {
					t.Fatalf("seed %d, step %d, %s: %v", seed, step, name, err)
				}
			}
		}
	}
}

func TestRandomRepeats(t *testing.T) {
	m := vfs.NewMemory()
	for i := range 20 {
		write(t, m, fmt.Sprint("f", i), strings.Repeat("x", 5000))
	}
	outcomes := map[string]bool{}
	for seed := range uint64(20) {
		a, b := show(t, m.PowerCut(vfs.Random(seed)), ""), show(t, m.PowerCut(vfs.Random(seed)), "")
		if a != b {
			t.Fatalf("seed %d left two different states", seed)
		}
		outcomes[a] = true
	}
	if len(outcomes) < 10 {
		t.Errorf("20 seeds left only %d different states", len(outcomes))
	}
}
