package disk

import "io"

// SyncFlag reads what Linux says.
var SyncFlag = syncFlag

// A Synced is what is on the disk by a trace.
type Synced struct{ s *synced }

// ReadSynced reads a trace of strace.
func ReadSynced(trace io.Reader) (Synced, error) {
	s := newSynced()
	return Synced{s}, s.read(trace)
}

// Stays and Returns are what becomes of a file.
func (s Synced) Stays(path string, old bool) bool { return s.s.stays(path, old) }
func (s Synced) Returns(path string) bool         { return s.s.returns(path) }

// Merge is what a server has lost of a folder by a trace, when it had what is in another one before; that becomes what it has then.
func Merge(dir, kept string, trace io.Reader) (Forgotten, error) {
	f := Forgetting{dir: dir, kept: kept, synced: newSynced()}
	if err := f.synced.read(trace); err != nil {
		return Forgotten{}, err
	}
	return f.merge()
}
