package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Copy copies a folder, whose files nobody may change meanwhile, to a place where there is none yet. What is neither a folder nor a
// regular file is left out.
func Copy(from, to string) error {
	source, err := os.OpenRoot(from)
	if err != nil {
		return fmt.Errorf("copy a folder: %w", err)
	}
	defer source.Close()
	if err := os.Mkdir(to, 0o700); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	if err := copyInto(source, to); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

// copyInto copies what is in a folder to one that is empty.
func copyInto(source *os.Root, to string) error {
	return fs.WalkDir(source.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(path))
		switch {
		case e.IsDir():
			return os.Mkdir(target, info.Mode().Perm())
		case e.Type().IsRegular():
			return copyFile(source, path, target, info.Mode().Perm())
		}
		return nil
	})
}

func copyFile(source *os.Root, path, target string, mode fs.FileMode) error {
	in, err := source.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Restore puts a copy of a folder in its place; it is no copy any more then.
func Restore(kept, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("restore %s: %w", dir, err)
	}
	if err := os.Rename(kept, dir); err != nil {
		return fmt.Errorf("restore %s: %w", dir, err)
	}
	return nil
}
