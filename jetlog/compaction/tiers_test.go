package compaction_test

import (
	"testing"

	"runnel/jetlog/compaction"
)

const mib = 1 << 20

func whole(sizes ...int64) (files []compaction.File) {
	for _, n := range sizes {
		files = append(files, compaction.File{Bytes: n, Left: n})
	}
	return files
}

func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		name     string
		files    []compaction.File
		first, n int
	}{
		{"none", nil, 0, 0},
		{"three of one size", whole(5, 5, 5), 0, 0},
		{"four of one size", whole(5, 5, 5, 5), 0, 4},
		{"four behind a large one", whole(60*mib, mib, mib, mib, mib), 1, 4},
		{"small ones do not make a large one be rewritten", whole(40*mib, 1, 1, 1), 0, 0},
		{"but so many of them do", whole(40*mib, 1, 1, 1, 9, 1, 1, 1, 40, 1, 1, 1, 200, 1, 1, 1), 0, 16},
		{"too large together", whole(20*mib, 20*mib, 20*mib, 20*mib), 0, 0},
		{"one is mostly gone", []compaction.File{{Bytes: 9 * mib, Left: 9 * mib}, {Bytes: 9 * mib, Left: mib}}, 1, 1},
		{"a small one is mostly gone", []compaction.File{{Bytes: mib / 2, Left: 1}}, 0, 0},
		{"facts in between count", []compaction.File{
			{Bytes: 5, Left: 5}, {Bytes: 5, Left: 5}, {Facts: 4 * mib}, {Bytes: 5, Left: 5}, {Bytes: 5, Left: 5},
		}, 0, 0},
		{"few facts in between", []compaction.File{
			{Bytes: 50, Left: 50}, {Bytes: 50, Left: 50}, {Facts: 1}, {Bytes: 50, Left: 50, Facts: 1},
		}, 0, 4},
		{"many subjects take as long as many bytes", []compaction.File{
			{Bytes: 9 * mib, Left: 9 * mib, Facts: mib / 8},
			{Bytes: 9 * mib, Left: 9 * mib, Facts: mib / 8},
			{Bytes: 9 * mib, Left: 9 * mib, Facts: mib / 8},
			{Bytes: 9 * mib, Left: 9 * mib, Facts: mib / 8},
		}, 0, 0},
	} {
		if first, n := compaction.Messages(tt.files, 64*mib); first != tt.first || n != tt.n {
			t.Errorf("%s: got %d, %d, want %d, %d", tt.name, first, n, tt.first, tt.n)
		}
	}
}

func TestFacts(t *testing.T) {
	const k = 1 << 10
	facts := func(counts ...uint64) (files []compaction.File) {
		for _, n := range counts {
			files = append(files, compaction.File{Bytes: 40 * mib, Left: 40 * mib, Facts: n})
		}
		return files
	}
	covered := facts(100*k, 100*k, 100*k, 100*k, 100*k)
	covered[1].Covered, covered[2].Facts = true, 0
	for _, tt := range []struct {
		name     string
		files    []compaction.File
		first, n int
	}{
		{"none", nil, 0, 0},
		{"three", facts(100*k, 100*k, 100*k), 0, 0},
		{"four", facts(100*k, 100*k, 100*k, 100*k), 0, 4},
		{"four small tables", facts(10, 10, 10, 10), 0, 0},
		{"sixteen of them", facts(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), 0, 16},
		{"behind one that is much larger", facts(900*k, 100*k, 100*k, 100*k, 100*k), 1, 4},
		{"behind one that is full", facts(4*k*k, 100*k, 100*k, 100*k, 100*k), 1, 4},
		{"too many together", facts(3*k*k, 3*k*k, 3*k*k, 3*k*k), 0, 0},
		{"what is not asked counts for nothing", covered, 0, 0},
		{"and is in the run", append(covered, facts(100*k)...), 0, 6},
	} {
		if first, n := compaction.Facts(tt.files, 64*mib); first != tt.first || n != tt.n {
			t.Errorf("%s: got %d, %d, want %d, %d", tt.name, first, n, tt.first, tt.n)
		}
	}
}

// TestFewTables adds file after file, puts together what the package says, and counts how many there are at most and how
// often a fact is written.
func TestFewTables(t *testing.T) {
	var files []compaction.File
	written, most := uint64(0), 0
	const flushes, each = 1000, 150_000
	for range flushes {
		files = append(files, compaction.File{Bytes: 30 * mib, Left: 30 * mib, Facts: each})
		for first, n := compaction.Facts(files, 64*mib); n > 0; first, n = compaction.Facts(files, 64*mib) {
			sum := uint64(0)
			for i := first; i < first+n; i++ {
				if !files[i].Covered {
					sum += files[i].Facts
				}
				files[i].Covered = true
			}
			written += sum
			files = append(files[:first+n:first+n], append([]compaction.File{{Facts: sum}}, files[first+n:]...)...)
		}
		asked := 0
		for _, f := range files {
			if !f.Covered {
				asked++
			}
		}
		most = max(most, asked)
	}
	if limit := flushes*each/(1<<19) + 8; most > limit {
		t.Errorf("%d tables are asked for %d facts, want at most %d", most, flushes*each, limit)
	}
	if written > 3*flushes*each {
		t.Errorf("each fact was written %.1f times more, want at most 3", float64(written)/(flushes*each))
	}
	t.Logf("at most %d tables; each fact is written %.1f times more", most, float64(written)/(flushes*each))
}
