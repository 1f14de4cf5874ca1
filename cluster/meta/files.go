package meta

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"path/filepath"
	"strings"

	"runnel/jetlog/vfs"
)

// nodeFile has the node id of a server.
const nodeFile = "node"

// nodeBytes is the length of a node id.
const nodeBytes = 8

// NodeID returns the node id that is kept in a directory. If there is none, it draws one and keeps it; it is durable when
// NodeID returns. The directory has to exist.
func NodeID(disk vfs.FS, dir string) (string, error) {
	b, err := readFile(disk, filepath.Join(dir, nodeFile))
	if err == nil {
		node := strings.TrimSpace(string(b))
		if len(node) != nodeBytes || strings.ContainsFunc(node, func(r rune) bool { return !base62(r) }) {
			return "", fmt.Errorf("%s does not contain a node id; if it is damaged, the server has to join as a new one, with an empty directory", filepath.Join(dir, nodeFile))
		}
		return node, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the node id: %w", err)
	}
	node := draw(nodeBytes)
	if err := writeFile(disk, dir, nodeFile, []byte(node+"\n")); err != nil {
		return "", fmt.Errorf("keep the node id: %w", err)
	}
	return node, nil
}

// HasNodeID reports whether there is something where NodeID keeps the node id.
func HasNodeID(disk vfs.FS, dir string) bool {
	_, err := disk.Stat(filepath.Join(dir, nodeFile))
	return err == nil
}

// base62 tells whether a node id may contain r.
func base62(r rune) bool { return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// draw returns n random characters.
func draw(n int) string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	text := strings.Repeat("0", n) + new(big.Int).SetBytes(b[:]).Text(62)
	return text[len(text)-n:]
}

// readFile returns what is in a file.
func readFile(disk vfs.FS, name string) ([]byte, error) {
	f, err := disk.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return b, nil
}

// writeFile replaces a file, or makes it. It is there as a whole or not at all, and durable when writeFile returns.
func writeFile(disk vfs.FS, dir, name string, b []byte) error {
	temporary := filepath.Join(dir, name+".new")
	f, err := disk.Create(temporary)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := disk.Rename(temporary, filepath.Join(dir, name)); err != nil {
		return err
	}
	return disk.SyncDir(dir)
}
