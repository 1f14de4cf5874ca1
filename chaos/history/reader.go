package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// lineBytesMax is how long a line may be. Errors of servers are the only long thing in it.
const lineBytesMax = 1 << 20

// internedMax bounds how many texts a reader keeps to give equal ones the same memory.
const internedMax = 4096

// ErrCut says that a history ends in the middle of a line, as it does when the harness died while
// writing. All operations before that were read.
var ErrCut = errors.New("the history is cut off in the middle of a line")

// Parse yields the operations of a history. An error is the last thing it yields: ErrCut where the
// history ends within a line, or the number of the line that says nothing.
func Parse(r io.Reader) iter.Seq2[Operation, error] {
	return func(yield func(Operation, error) bool) {
		lines := bufio.NewReaderSize(r, 64<<10)
		texts := texts{}
		var line []byte
		for n := 1; ; n++ {
			var err error
			line, err = nextLine(lines, line[:0])
			switch {
			case err == io.EOF && len(line) == 0:
				return
			case err == io.EOF:
				err = ErrCut
			}
			var o Operation
			if err == nil {
				err = parseLine(line, &o)
			}
			if err != nil {
				yield(Operation{}, fmt.Errorf("line %d of the history: %w", n, err))
				return
			}
			texts.intern(&o)
			if !yield(o, nil) {
				return
			}
		}
	}
}

// ReadFile reads the history at path. On an error it returns what comes before it as well. It takes about
// 250 bytes of memory for each operation.
func ReadFile(path string) ([]Operation, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the history: %w", err)
	}
	defer f.Close()
	lines, err := countLines(f)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	all := make([]Operation, 0, lines)
	for o, err := range Parse(f) {
		if err != nil {
			return all, fmt.Errorf("read %s: %w", path, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// countLines tells how many operations there will be: a list that had to grow would take twice the memory.
func countLines(r io.Reader) (n int, err error) {
	buffer := make([]byte, 256<<10)
	for {
		got, err := r.Read(buffer)
		n += bytes.Count(buffer[:got], []byte{'\n'})
		switch {
		case err == io.EOF:
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

// nextLine appends the next line to buffer, without its end. io.EOF means that the end was missing.
func nextLine(r *bufio.Reader, buffer []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(buffer)+len(part) > lineBytesMax+1 {
			return buffer, fmt.Errorf("it is longer than %d bytes", lineBytesMax)
		}
		buffer = append(buffer, part...)
		switch {
		case err == nil:
			return buffer[:len(buffer)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return buffer, err
		}
	}
}

// parseLine reads one operation and refuses what no checker could work with.
func parseLine(line []byte, o *Operation) error {
	if err := json.Unmarshal(line, o); err != nil {
		return err
	}
	return o.valid()
}

// texts are those that stand in many operations. A history of a million operations has a few nodes, kinds
// and streams; each is kept once.
type texts map[string]string

// intern replaces the operation's texts that others are likely to have too.
func (t texts) intern(o *Operation) {
	for _, s := range []*string{&o.Node, &o.Workload, &o.Kind, &o.Stream, &o.Consumer, &o.Key, &o.Error} {
		known, ok := t[*s]
		switch {
		case ok:
			*s = known
		case len(t) < internedMax:
			t[*s] = *s
		}
	}
}
