package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"runnel/conf"
	"runnel/server"
)

// files are what the process writes about itself for others to find: its id,
// as a number, and the URLs of its listeners, as JSON. The fields are their
// paths, "" for none.
type files struct{ pid, ports string }

// write writes the files that the options ask for, and removes those that
// they ask for no more.
func (f *files) write(o *conf.Options, ports server.Ports) error {
	wanted := files{pid: o.PIDFile}
	if o.PortsFileDir != "" {
		wanted.ports = filepath.Join(o.PortsFileDir, portsFileName())
	}
	obsolete := *f
	if obsolete.pid == wanted.pid {
		obsolete.pid = ""
	}
	if obsolete.ports == wanted.ports {
		obsolete.ports = ""
	}
	*f = wanted
	err := obsolete.remove()
	if f.pid != "" {
		err = errors.Join(err, replaceFile(f.pid, []byte(strconv.Itoa(os.Getpid()))))
	}
	if f.ports != "" {
		text, failed := json.Marshal(ports)
		err = errors.Join(err, failed, replaceFile(f.ports, text))
	}
	return err
}

// remove removes the files, except for a pid file that meanwhile holds the id
// of another process.
func (f *files) remove() error {
	var err error
	if f.pid != "" && holdsOurPID(f.pid) {
		err = os.Remove(f.pid)
	}
	if f.ports != "" {
		if failed := os.Remove(f.ports); !errors.Is(failed, os.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	*f = files{}
	return err
}

// holdsOurPID reports whether a pid file is still ours: another server may
// have been started with the same file while this one was ending.
func holdsOurPID(path string) bool {
	text, err := os.ReadFile(path)
	return err == nil && strings.TrimSpace(string(text)) == strconv.Itoa(os.Getpid())
}

// portsFileName is <program>_<pid>.ports, so that several servers can share a
// folder and whoever started one knows the name.
func portsFileName() string {
	program := filepath.Base(os.Args[0])
	if runs, err := os.Executable(); err == nil {
		program = filepath.Base(runs)
	}
	return fmt.Sprintf("%s_%d.ports", strings.TrimSuffix(program, ".exe"), os.Getpid())
}

// replaceFile writes a file so that a reader finds the old text or the new
// one, never half of it.
func replaceFile(path string, text []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if errors.Is(err, os.ErrPermission) {
		return os.WriteFile(path, text, 0o644) // the file may be ours, though its folder is not
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Chmod(0o644), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(temp.Name()))
	}
	return nil
}
