package server

import (
	"time"

	"runnel/cluster/meta"
	"runnel/jetlog/store"
	"runnel/jetlog/vfs"
	"runnel/server/memory"
)

// Host is where a server keeps its streams, and in a cluster what the servers have agreed on. The zero Host is this machine's disk.
// Another one is for simulations: a disk in memory can lose its power (see [vfs.Memory]), where a process can only be killed.
type Host struct {
	// Disk is the file system below store_dir. Nil is the real one.
	Disk vfs.FS
	// MetaLog opens the log of the meta group below a directory. Nil is a file, which has to be on the real disk.
	MetaLog func(dir string) (meta.Store, error)
	// Tune, if it is not nil, changes the sizes of a store that is about to be opened: small ones have it do often what it does seldom.
	Tune func(*store.Config)
	// Clock is the clock of the machine, for the times of messages and all that has its time by them. Nil is the real one.
	Clock func() time.Time
	// Memory is the memory budget of the process where the options say nothing; the zero value is none.
	Memory memory.Budget
}

// complete fills in what was left out.
func (h Host) complete() Host {
	if h.Disk == nil {
		h.Disk = vfs.Disk{}
	}
	return h
}
