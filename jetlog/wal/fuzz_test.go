package wal_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"runnel/jetlog/vfs"
	"runnel/jetlog/wal"
)

// FuzzRecover recovers whatever bytes as the files of a log. There is no panic and no memory beyond what the
// files have; what is recovered once is recovered again. Nothing runs beside it, which is what the engine
// that looks for new paths needs.
func FuzzRecover(f *testing.F) {
	const size = 12 << 10
	records := func(group, from, to uint64) (list []wal.Record) {
		for i := from; i <= to; i++ {
			list = append(list, wal.Record{Group: group, Index: i, Payload: []byte{byte(i)}})
		}
		return list
	}
	one, sum := wal.BuildSegment(1, [16]byte{}, size, 0,
		wal.BuildBatch{Sequence: 1, Records: records(1, 1, 2)},
		wal.BuildBatch{Sequence: 2, Synced: 1, Records: records(2, 1, 1)})
	two, _ := wal.BuildSegment(2, [16]byte{}, size, sum,
		wal.BuildBatch{Sequence: 3, Synced: 2, Records: records(1, 3, 3)},
		wal.BuildBatch{Sequence: 4, Synced: 3, Closing: true})
	again, _ := wal.BuildSegment(2, [16]byte{}, size, 0, wal.BuildBatch{Sequence: 2, Synced: 1, Records: records(2, 1, 1)})
	f.Add(squeeze(one), squeeze(two), uint16(0), uint8(0))
	f.Add(squeeze(one), squeeze(again), uint16(48), uint8(0x40))
	f.Add(squeeze(one), squeeze(two), uint16(200), uint8(1))
	f.Add(squeeze(one), squeeze(one), uint16(12), uint8(1))
	f.Add(squeeze(two), squeeze(one), uint16(45), uint8(255))
	f.Add(squeeze(one)[:180], squeeze(two)[:44], uint16(0), uint8(0))
	f.Add([]byte{}, []byte("runnelWL"), uint16(0), uint8(0))
	// The first batch is damaged, the second one missing, the third torn: what was cut off once stays so.
	f.Add(squeeze(one)[:190], squeeze(two), uint16(120), uint8(1))
	f.Fuzz(func(t *testing.T, a, b []byte, at uint16, mask uint8) {
		if len(a)+len(b) > 64<<10 {
			return
		}
		if int(at) < len(a) {
			a = bytes.Clone(a)
			a[at] ^= mask
		}
		m := vfs.NewMemory()
		ok(t, m.MkdirAll(dir))
		writeFile(t, m, wal.SegmentName(1), expand(a, size))
		writeFile(t, m, wal.SegmentName(2), expand(b, size))
		writeFile(t, m, "something else", a)
		var start, end runtime.MemStats
		runtime.ReadMemStats(&start)
		r, err := wal.Recover(config(m))
		if errors.Is(err, wal.ErrVersion) || errors.Is(err, wal.ErrForeign) {
			return
		}
		ok(t, err)
		first, err := entries(r)
		ok(t, err)
		runtime.ReadMemStats(&end)
		if used := end.TotalAlloc - start.TotalAlloc; used > 32<<20 {
			t.Errorf("%d bytes allocated for %d bytes of files", used, len(a)+len(b))
		}
		for range 2 {
			r, err := wal.Recover(config(m))
			ok(t, err)
			again, err := entries(r)
			ok(t, err)
			if !slices.EqualFunc(first, again, func(a, b wal.Entry) bool {
				return a.Group == b.Group && a.Index == b.Index && a.Position == b.Position && bytes.Equal(a.Payload, b.Payload)
			}) {
				t.Errorf("%d records when recovered again, want the same %d", len(again), len(first))
			}
		}
	})
}

// squeeze leaves out of a segment what is zeros anyhow: inputs should be short.
func squeeze(file []byte) []byte {
	return slices.Concat(file[:headerUsed], bytes.TrimRight(file[wal.SegmentHeader:], "\x00"))
}

// expand is the reverse of squeeze.
func expand(b []byte, size int) []byte {
	if len(b) <= headerUsed {
		return b
	}
	file := slices.Concat(b[:headerUsed], make([]byte, wal.SegmentHeader-headerUsed), b[headerUsed:])
	return append(file, make([]byte, max(0, size-len(file)))...)
}

// headerUsed is how much of the first page of a segment means something.
const headerUsed = 44

// FuzzRecord decodes whatever bytes as a record, and encodes what was decoded.
func FuzzRecord(f *testing.F) {
	f.Add(wal.EncodeRecord(wal.Record{Group: 1, Index: 2, Term: 3, Kind: 4, Payload: []byte("payload")}, 0, 5, 4096), uint64(5), int64(4096))
	f.Add(wal.EncodeRecord(wal.Record{}, 1, 1, 0), uint64(1), int64(0))
	f.Add(make([]byte, wal.RecordHeader), uint64(0), int64(0))
	f.Fuzz(func(t *testing.T, b []byte, segment uint64, offset int64) {
		r, flags, n, valid := wal.DecodeRecord(b, segment, offset)
		if !valid {
			encoded := wal.EncodeRecord(wal.Record{Group: segment, Index: uint64(offset), Payload: b}, 0, segment, offset)
			back, _, n, valid := wal.DecodeRecord(encoded, segment, offset)
			if !valid || n != len(encoded) || back.Group != segment || !bytes.Equal(back.Payload, b) {
				t.Errorf("an encoded record came back as %v, %+v", valid, back)
			}
			if _, _, _, valid := wal.DecodeRecord(encoded, segment+1, offset); valid {
				t.Error("the record of another segment is valid")
			}
			return
		}
		if !bytes.Equal(wal.EncodeRecord(r, flags, segment, offset), b[:n]) {
			t.Errorf("%+v is encoded as other bytes than it was decoded from", r)
		}
		if claimed := binary.LittleEndian.Uint32(b[4:]); int(claimed) != len(r.Payload) || n > len(b) {
			t.Errorf("a payload of %d bytes in a record of %d, the header says %d", len(r.Payload), n, claimed)
		}
	})
}

// TestGolden opens a log that an earlier version wrote. The files must open for ever; a new format gets new
// ones beside them.
func TestGolden(t *testing.T) {
	m := vfs.NewMemory()
	ok(t, m.MkdirAll(dir))
	for _, name := range []string{wal.SegmentName(1), wal.SegmentName(2)} {
		writeFile(t, m, name, golden(t, filepath.Join("testdata", "v1", name)))
	}
	cfg := config(m)
	cfg.ID = [16]byte{0: 'g', 15: 'n'}
	log, r := open(t, cfg)
	got, err := entries(r)
	ok(t, err)
	ok(t, log.Close())
	want := append(records(1, 1, 30), records(2, 1, 5)...)
	if len(got) != len(want) || r.Torn != nil || r.Damage != nil {
		t.Fatalf("%d records, want %d; torn %v, damage %v", len(got), len(want), r.Torn, r.Damage)
	}
	for i, w := range want {
		if g := got[i].Record; g.Group != w.Group || g.Index != w.Index || g.Kind != w.Kind || !bytes.Equal(g.Payload, w.Payload) {
			t.Errorf("record %d is %d/%d, want %d/%d, or its kind or payload differs", i, g.Group, g.Index, w.Group, w.Index)
		}
	}
}

// golden reads a file of testdata, or, with -update, has a log write it.
func golden(t *testing.T, name string) []byte {
	t.Helper()
	if *update {
		cfg := config(vfs.Disk{})
		cfg.Dir, cfg.ID = filepath.Dir(name), [16]byte{0: 'g', 15: 'n'}
		if _, err := (vfs.Disk{}).Stat(name); err != nil {
			log, _ := open(t, cfg)
			for _, x := range append(records(1, 1, 30), records(2, 1, 5)...) {
				p, err := log.Append(background, x)
				ok(t, err)
				ok(t, log.Wait(background, p))
			}
			ok(t, log.Close())
		}
	}
	f, err := vfs.Disk{}.Open(name)
	ok(t, err)
	defer func() { ok(t, f.Close()) }()
	size, err := f.Size()
	ok(t, err)
	b := make([]byte, size)
	_, err = f.ReadAt(b, 0)
	ok(t, err)
	return b
}
