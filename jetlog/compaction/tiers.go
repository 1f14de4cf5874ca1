package compaction

// File is a file of a stream, as far as it matters here.
type File struct {
	Bytes   int64  // of its messages as they were written
	Left    int64  // of those that are left
	Facts   uint64 // about subjects
	Covered bool   // a later file has all of its facts
}

const (
	// runLength is how many files of about one size become one.
	runLength = 4
	// longLength is how many do whatever their size.
	longLength = 4 * runLength
	// halvedBytes is how large a file must be to be rewritten for itself.
	halvedBytes = 1 << 20
	// subjectBytes is what a subject counts for besides its messages: writing a file takes as long for one as for so many
	// bytes of them.
	subjectBytes = 128
	// leastShare and mostShare are for how many facts a file of their own is worth while, and how many it gets, as
	// parts of the bytes that files grow to. With the usual 64 MiB that is 65,536 and a million, which are written in a
	// fraction of a second: a flush may wait for it.
	leastShare = 1024
	mostShare  = 64
)

// Messages returns the first run of files, which are neighbours, whose content should be in one file of at most so many
// bytes: several that are small together, or one that is mostly gone; n is 0 for none.
func Messages(files []File, mostBytes int64) (first, n int) {
	for i := range files {
		sum, largest := int64(0), int64(0)
		for j := i; j < len(files); j++ {
			size := files[j].size()
			sum += size
			largest = max(largest, size)
			if sum > mostBytes {
				break
			}
			if n := j - i + 1; n >= runLength && sum >= largest*2 || n >= longLength {
				return i, n
			}
		}
	}
	for i := range files {
		if f := &files[i]; f.Bytes >= halvedBytes && f.Left < f.Bytes/2 {
			return i, 1
		}
	}
	return 0, 0
}

// size is what a file counts for.
func (f *File) size() int64 { return f.Left + int64(f.Facts)*subjectBytes }

// Facts returns the first run of files whose facts should be in one file, where files grow to so many bytes; n is 0 for
// none. What is in the run and has no facts, or is covered, counts for nothing.
func Facts(files []File, mostBytes int64) (first, n int) {
	least, most := uint64(mostBytes/leastShare), uint64(mostBytes/mostShare)
	for i := range files {
		sum, largest, count := uint64(0), uint64(0), 0
		for j := i; j < len(files) && files[i].asked(); j++ {
			if !files[j].asked() {
				continue
			}
			count++
			sum += files[j].Facts
			largest = max(largest, files[j].Facts)
			if sum > most {
				break
			}
			if sum >= largest*2 && (count >= runLength && sum >= least || count >= longLength) {
				return i, j - i + 1
			}
		}
	}
	return 0, 0
}

// asked reports whether whoever looks for a subject asks the file.
func (f *File) asked() bool { return f.Facts > 0 && !f.Covered }
