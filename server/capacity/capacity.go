// Package capacity finds out how many bytes all streams of a server together may have: what the options say, or a part of what the
// machine has.
package capacity

import (
	"bytes"
	"math"
	"math/bits"
	"os"
	"runtime/debug"
	"strconv"

	"runnel/conf"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
)

// Capacity is how many bytes all streams together may have, in memory and in files; -1 is no limit, 0 is none at all.
type Capacity struct{ MemoryBytes, StoreBytes int64 }

// Of returns what the options say, and where they leave it to the machine three quarters of what there is:
// of the memory that the process may use, and of the disk that is free or has our messages already. What cannot be
// found out is no limit.
func Of(js *conf.JetStream, disk vfs.FS, dir string, opened *store.Store) Capacity {
	c := Capacity{js.MaxMemoryBytes, js.MaxStoreBytes}
	if c.MemoryBytes < 0 {
		c.MemoryBytes = threeQuarters(usableMemory(debug.SetMemoryLimit(-1), os.ReadFile))
	}
	if c.StoreBytes < 0 {
		free, err := disk.FreeBytes(dir)
		if err != nil {
			return c
		}
		for _, s := range opened.Streams() {
			free = addBytes(free, s.State().Bytes)
		}
		c.StoreBytes = threeQuarters(free)
	}
	return c
}

// threeQuarters is that part of a size, -1 of an unknown one.
func threeQuarters(n int64) int64 {
	if n <= 0 || n == math.MaxInt64 {
		return -1
	}
	return n - n/4
}

// addBytes is a sum that stays at the largest number.
func addBytes(n int64, more uint64) int64 {
	sum, carry := bits.Add64(uint64(n), more, 0)
	if carry > 0 || sum > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(sum)
}

// usableMemory returns the bytes of memory that this process may use: what GOMEMLIMIT says, or else the least that the
// machine has and the container allows; 0 when nothing says so. What readFile reads is Linux's.
func usableMemory(goLimit int64, readFile func(string) ([]byte, error)) int64 {
	if goLimit != math.MaxInt64 {
		return goLimit
	}
	least := int64(math.MaxInt64)
	if text, err := readFile("/proc/meminfo"); err == nil {
		if kib := number(between(text, "MemTotal:", "kB")); kib > 0 && kib < math.MaxInt64>>10 {
			least = kib << 10
		}
	}
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if text, err := readFile(name); err == nil {
			if n := number(text); n > 0 { // else the word max
				least = min(least, n)
			}
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// between returns what stands between two words of a text, nothing if one is missing.
func between(text []byte, before, after string) []byte {
	_, rest, _ := bytes.Cut(text, []byte(before))
	found, _, ok := bytes.Cut(rest, []byte(after))
	if !ok {
		return nil
	}
	return found
}

// number reads a number with blanks around it, 0 if it is none.
func number(text []byte) int64 {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
