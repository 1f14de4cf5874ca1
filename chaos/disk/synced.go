package disk

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
)

// traced are the system calls that say what is on the disk, and what is called what.
const traced = "fsync,fdatasync,sync,syncfs,sync_file_range,msync,open,openat,rename,renameat,renameat2"

// Calls in a trace that shows the path of each file descriptor. One that was interrupted is there twice: where it begins, with all that is
// known of its files, and where it ends, with a name that none of these matches.
var (
	callOfFile   = regexp.MustCompile(`\b(?:fsync|fdatasync|sync_file_range)\(\d+<([^>]*)>`)
	callOfAll    = regexp.MustCompile(`\b(?:sync|syncfs|msync|fsync|fdatasync|sync_file_range)\(`) // of what, is not known if the one above does not match
	callOpening  = regexp.MustCompile(`\bopen(?:at)?\((?:[^"]*<([^>]*)>, )?"([^"]*)", [A-Z_|]*\bO_D?SYNC\b`)
	callRenaming = regexp.MustCompile(`\brename(?:at2?)?\((?:[^"]*<([^>]*)>, )?"([^"]*)", (?:[^"]*<([^>]*)>, )?"([^"]*)"`)
)

// synced is what must be on the disk, by a trace. Where a trace leaves a doubt the answer is that it must. Paths are absolute.
type synced struct {
	files   map[string]bool // of which something was synced
	folders map[string]bool // the same, so that what was made and removed in them has happened
	waiting map[string]bool // files that have their names since a folder was last synced
	from    map[string]bool // former names of files, and of folders
	to      map[string]bool // new names
}

func newSynced() *synced {
	return &synced{
		files: make(map[string]bool), folders: make(map[string]bool), waiting: make(map[string]bool), from: make(map[string]bool), to: make(map[string]bool),
	}
}

// read reads a trace. The error is [ErrSynced] if a call may have synced anything.
func (s *synced) read(trace io.Reader) error {
	lines := bufio.NewReader(trace)
	for {
		line, err := lines.ReadString('\n')
		if err := s.line(strings.TrimSpace(line)); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the trace: %w", err)
		}
	}
}

func (s *synced) line(line string) error {
	if m := callOfFile.FindStringSubmatch(line); m != nil {
		s.sync(m[1])
		return nil
	}
	if callOfAll.MatchString(line) {
		return fmt.Errorf("%w: %s", ErrSynced, line)
	}
	if m := callOpening.FindStringSubmatch(line); m != nil {
		s.sync(within(m[1], m[2]))
		return nil
	}
	if m := callRenaming.FindStringSubmatch(line); m != nil {
		s.rename(within(m[1], m[2]), within(m[3], m[4]))
	}
	return nil
}

// within is a path as a call has it that begins at a folder.
func within(folder, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

// sync notes a sync of a file or folder.
func (s *synced) sync(path string) {
	path = filepath.Clean(strings.TrimSuffix(path, " (deleted)"))
	s.files[path], s.folders[path] = true, true // nobody can tell which it is
	for file := range s.waiting {
		if filepath.Dir(file) == path {
			s.files[file] = true
			delete(s.waiting, file)
		}
	}
}

// rename notes a new name. It is on the disk when its folder is synced. Until then what had that name before may come back, unless that itself
// was synced: it is not in any copy then.
func (s *synced) rename(from, to string) {
	s.from[from], s.to[to] = true, true
	delete(s.files, from)
	if !s.files[to] {
		s.waiting[to] = true
	}
}

// stays reports whether a file must be as it is now; old is whether it was there before.
func (s *synced) stays(path string, old bool) bool {
	return s.files[path] || below(s.to, path) || !old && s.folders[filepath.Dir(path)]
}

// returns reports whether a file that was there before, and is not now, may be there again.
func (s *synced) returns(path string) bool {
	return !s.folders[filepath.Dir(path)] && !s.from[path] && !below(s.from, path)
}

// below reports whether a path is below one of some.
func below(these map[string]bool, path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if these[dir] {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
