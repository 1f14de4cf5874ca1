package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
)

// processesNamed returns the processes, without this one, whose program has
// that file name. Those that cannot be looked into belong to others.
func processesNamed(name string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		program, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if filepath.Base(program) == name {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
