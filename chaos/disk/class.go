package disk

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"

	"runnel/chaos/process"
)

// A Class is a sort of files of a server, by what they are for.
type Class int

// The classes.
const (
	// Log are the files that are written first: the log that all streams share, or the logs of raft groups.
	Log Class = iota
	// Data are the files with messages, where these are apart from the log.
	Data
	// Meta are the files that say what else there is, how far it is, and who the server is.
	Meta
	// Any is all of these.
	Any
)

// String is what the files of the class are.
func (c Class) String() string {
	return [...]string{Log: "log", Data: "messages", Meta: "metadata", Any: "any"}[c]
}

// patterns are the files of a class below the folder of a server's streams.
func patterns(d process.Dialect) map[Class]*regexp.Regexp {
	if d == process.Incumbent {
		return map[Class]*regexp.Regexp{
			Log:  regexp.MustCompile(`^jetstream/[^/]+/_js_/[^/]+/msgs/\d+\.blk$`),
			Data: regexp.MustCompile(`^jetstream/[^/]+/streams/[^/]+/msgs/\d+\.blk$`),
			Meta: regexp.MustCompile(`/(meta\.inf|meta\.sum|index\.db|o\.dat|(tav|peers|commit)\.idx|snapshots/snap\.\d+\.\d+)$`),
		}
	}
	return map[Class]*regexp.Regexp{
		Log:  regexp.MustCompile(`^runnel/wal/\d+\.wal$`),
		Data: regexp.MustCompile(`^runnel/segments/[^/]+\.segment$`),
		Meta: regexp.MustCompile(`^(runnel/manifest-\d+|runnel-cluster/node|runnel-cluster/meta/(log|snapshot|formation))$`),
	}
}

// Files are those of a class in the folder of a server's streams, below it and with slashes, sorted. What is no regular file is none.
func Files(dir string, d process.Dialect, c Class) ([]string, error) {
	there, err := regularFiles(dir)
	if err != nil {
		return nil, fmt.Errorf("list the files of a server: %w", err)
	}
	var found []string
	all := patterns(d)
	for path := range there {
		for class, pattern := range all {
			if (c == Any || c == class) && pattern.MatchString(path) {
				found = append(found, path)
				break
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

// regularFiles are all files below a folder, below it and with slashes, but for what is no regular file.
func regularFiles(dir string) (map[string]bool, error) {
	all := make(map[string]bool)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		all[path] = true
		return nil
	})
	return all, err
}
