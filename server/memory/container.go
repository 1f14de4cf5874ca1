package memory

import (
	"bufio"
	"bytes"
	"math"
	"path"
	"strconv"
	"strings"
)

// ReadFile reads a file, as os.ReadFile does.
type ReadFile func(name string) ([]byte, error)

// Where Linux mounts its control groups: version 2, and the hierarchy of version 1 that counts memory.
const (
	groupsRoot       = "/sys/fs/cgroup"
	groupsRootMemory = "/sys/fs/cgroup/memory"
)

// Container returns how many bytes of memory the control groups of this process allow, 0 where there is no limit. A limit binds all
// groups below its own, so that the smallest one up the tree counts.
func Container(read ReadFile) int64 {
	text, err := read("/proc/self/cgroup")
	if err != nil {
		text = []byte("0::/\n1:memory:/\n") // not Linux, or hidden: the roots may still say something
	}
	least := int64(math.MaxInt64)
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		number, rest, _ := strings.Cut(lines.Text(), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch {
		case number == "0" && controllers == "":
			least = min(least, leastUp(read, groupsRoot, group, "memory.max"))
		case hasWord(controllers, "memory"):
			least = min(least, leastUp(read, groupsRootMemory, group, "memory.limit_in_bytes"))
		}
	}
	if least >= unlimited {
		return 0
	}
	return least
}

// unlimited is from where on a limit is none: version 1 writes "no limit" as a number close to the largest, in whole pages.
const unlimited = math.MaxInt64 - 1<<20

// leastUp is the smallest number that files of a name have, from a group up to the root. In a container the path of the group is
// often that outside of it: files that are not there say nothing.
func leastUp(read ReadFile, root, group, file string) int64 {
	least := int64(math.MaxInt64)
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		if text, err := read(path.Join(root, dir, file)); err == nil {
			if n := number(text); n > 0 { // else the word max
				least = min(least, n)
			}
		}
		if dir == "/" {
			return least
		}
	}
}

// hasWord tells whether a list with commas has a word.
func hasWord(list, word string) bool {
	for each := range strings.SplitSeq(list, ",") {
		if each == word {
			return true
		}
	}
	return false
}

// Machine returns how many bytes of memory the machine has, 0 where that is not known.
func Machine(read ReadFile) int64 {
	text, err := read("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("MemTotal:"))
	kibibytes, _, ok := bytes.Cut(rest, []byte("kB"))
	if n := number(kibibytes); ok && n > 0 && n < math.MaxInt64>>10 {
		return n << 10
	}
	return 0
}

// number reads a number with blanks around it, 0 if it is none.
func number(text []byte) int64 {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
