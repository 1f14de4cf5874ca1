// Package capacity finds out how many bytes all streams of a server together may have: what the options say, or a part of what the
// machine has.
package capacity

import (
	"math"
	"math/bits"
	"os"
	"runtime/debug"

	"runnel/conf"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/server/memory"
)

// Capacity is how many bytes all streams together may have, in memory and in files; -1 is no limit, 0 is none at all.
type Capacity struct{ MemoryBytes, StoreBytes int64 }

// Of returns what the options say, and where they leave it to the machine three quarters of what there is:
// of the memory that the process may use, and of the disk that is free or has our messages already. Of a memory budget it is the
// share of streams. What cannot be found out is no limit.
func Of(js *conf.JetStream, disk vfs.FS, dir string, opened *store.Store, shares memory.Shares) Capacity {
	c := Capacity{js.MaxMemoryBytes, js.MaxStoreBytes}
	if c.MemoryBytes < 0 && shares.StreamsBytes > 0 {
		c.MemoryBytes = shares.StreamsBytes
	} else if c.MemoryBytes < 0 {
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
// machine has and the container allows; 0 when nothing says so. What read reads is Linux's.
func usableMemory(goLimit int64, read memory.ReadFile) int64 {
	if goLimit != math.MaxInt64 {
		return goLimit
	}
	machine, container := memory.Machine(read), memory.Container(read)
	if machine > 0 && container > 0 {
		return min(machine, container)
	}
	return machine + container
}
