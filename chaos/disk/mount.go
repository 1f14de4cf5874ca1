package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// run runs a program that says what is wrong.
func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Mounting is why file systems cannot be mounted here; nil if they can. It tries.
func Mounting() error {
	dir, err := os.MkdirTemp("", "mount")
	if err != nil {
		return err
	}
	err = memory(dir, 1<<20)
	if err == nil {
		err = unmount(dir)
	}
	return errors.Join(err, os.Remove(dir))
}

// memory has a folder be a file system in memory.
func memory(dir string, bytes int64) error {
	return run("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d,mode=0700", bytes), "tmpfs", dir)
}

// unmount ends a mount, also if somebody still uses it.
func unmount(dir string) error { return run("umount", "-l", dir) }

// ReadOnly has nobody make or open for writing a file below a folder, until the function is called that is returned. Files that are open
// stay so.
func ReadOnly(dir string) (undo func() error, err error) {
	if err := run("mount", "--bind", dir, dir); err != nil {
		return nil, err
	}
	undo = func() error { return unmount(dir) }
	if err := run("mount", "-o", "remount,bind,ro", dir, dir); err != nil {
		return nil, errors.Join(err, undo())
	}
	return undo, nil
}

// slackBytes is the room that a full disk has left at first, so that it becomes full while something is written.
const slackBytes = 1 << 20

// A Room is a folder on a small disk, which can be full.
type Room struct {
	dir   string
	whole int64 // how many bytes there is room for
}

// NewRoom moves a folder, whose server must be down, to a small disk with room for its files and so many bytes more. It must be closed.
func NewRoom(dir string, bytes int64) (*Room, error) {
	used, err := usedBytes(dir)
	if err != nil {
		return nil, err
	}
	before := dir + ".before"
	if err := os.Rename(dir, before); err != nil {
		return nil, err
	}
	r := &Room{dir: dir, whole: used + bytes}
	err = os.Mkdir(dir, 0o700)
	if err == nil {
		err = memory(dir, r.whole)
	}
	if err != nil {
		return nil, errors.Join(err, Restore(before, dir))
	}
	if err = r.fillFrom(before); err != nil {
		return nil, errors.Join(err, unmount(dir), Restore(before, dir))
	}
	return r, os.RemoveAll(before)
}

// fillFrom copies what is in a folder to the disk.
func (r *Room) fillFrom(before string) error {
	source, err := os.OpenRoot(before)
	if err != nil {
		return err
	}
	defer source.Close()
	return copyInto(source, r.dir)
}

// usedBytes is how many bytes the files of a folder have, in pages.
func usedBytes(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil {
			return err
		}
		bytes += (info.Size() + pageBytes - 1) / pageBytes * pageBytes
		return nil
	})
	return bytes, err
}

// Fill makes the disk as good as full.
func (r *Room) Fill() error {
	used, err := usedBytes(r.dir)
	if err != nil {
		return err
	}
	// More may be taken than files are long: then there is less room still, but none can be taken away that is used.
	for slack := int64(slackBytes); ; slack *= 2 {
		err := r.resize(used + slack)
		if err == nil || used+slack >= r.whole {
			return err
		}
	}
}

// Grow has the disk have the room that it had at first.
func (r *Room) Grow() error { return r.resize(r.whole) }

func (r *Room) resize(bytes int64) error {
	return run("mount", "-o", fmt.Sprintf("remount,size=%d", bytes), r.dir)
}

// Close moves the folder, whose server must be down, back to where it was.
func (r *Room) Close() error {
	after := r.dir + ".after"
	if err := Copy(r.dir, after); err != nil {
		return errors.Join(err, os.RemoveAll(after))
	}
	if err := unmount(r.dir); err != nil {
		return errors.Join(err, os.RemoveAll(after))
	}
	return Restore(after, r.dir)
}
