package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// userTick is the unit of CPU times in /proc/PID/stat, fixed for all of Linux's
// user space.
const userTick = 10 * time.Millisecond

// ReadUsage reads what a process has used so far.
func ReadUsage(pid int) (Usage, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	var u Usage
	var err error
	if u.Ticked, err = readTicked(filepath.Join(dir, "stat")); err != nil {
		return Usage{}, fmt.Errorf("process %d: %w", pid, err)
	}
	if u.Scheduled, err = readScheduled(filepath.Join(dir, "task")); err != nil {
		return Usage{}, fmt.Errorf("process %d: %w", pid, err)
	}
	if u.RSSBytes, err = readResident(filepath.Join(dir, "statm")); err != nil {
		return Usage{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return u, nil
}

// readTicked reads user and system time from a stat file. The command name in
// it stands in parentheses and may hold anything, so fields count from the last
// closing one.
func readTicked(path string) (time.Duration, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("%s has %d fields after the name, 13 are needed", path, len(fields))
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: user time: %w", path, err)
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: system time: %w", path, err)
	}
	return time.Duration(user+system) * userTick, nil
}

// readScheduled sums the run time of all threads. A kernel without scheduler
// statistics has no such files, which gives zero; a thread that ends meanwhile
// is passed over.
func readScheduled(dir string) (time.Duration, error) {
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, task := range tasks {
		data, err := os.ReadFile(filepath.Join(dir, task.Name(), "schedstat"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		field, _, _ := strings.Cut(string(data), " ")
		nanoseconds, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("thread %s: run time: %w", task.Name(), err)
		}
		sum += nanoseconds
	}
	return time.Duration(sum), nil
}

// readResident reads the resident pages from a statm file.
func readResident(path string) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0, fmt.Errorf("%s has no resident size", path)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: resident size: %w", path, err)
	}
	return pages * int64(os.Getpagesize()), nil
}
