package disk

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// written are the offsets of the pages of a file that are not all zero.
func written(root *os.Root, name string) (pages []int64, err error) {
	err = eachPage(root, name, func(at int64, content []byte) {
		if len(bytes.TrimLeft(content, "\x00")) > 0 {
			pages = append(pages, at)
		}
	})
	return pages, err
}

// changed are the offsets of the pages of a file that an older one has as well, with other content.
func changed(root, older *os.Root, name string) (pages []int64, err error) {
	old, err := older.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer old.Close()
	before := make([]byte, pageBytes)
	var failed error
	err = eachPage(root, name, func(at int64, content []byte) {
		n, err := old.ReadAt(before[:len(content)], at)
		if err != nil && err != io.EOF {
			failed = errors.Join(failed, err)
		}
		if n > 0 && !bytes.Equal(before[:n], content[:n]) {
			pages = append(pages, at)
		}
	})
	return pages, errors.Join(err, failed)
}

// eachPage reads a file page by page; the last one may be shorter.
func eachPage(root *os.Root, name string, see func(at int64, content []byte)) error {
	file, err := root.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	buffer := make([]byte, 256*pageBytes)
	for at := int64(0); ; {
		n, err := io.ReadFull(file, buffer)
		for i := 0; i < n; i += pageBytes {
			see(at+int64(i), buffer[i:min(i+pageBytes, n)])
		}
		at += int64(n)
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return nil
		case err != nil:
			return err
		}
	}
}
