package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Figures are what a process uses.
type Figures struct {
	Descriptors   int   // open files and sockets
	ResidentBytes int64 // of memory
	CPU           time.Duration
}

// tick is the unit in which Linux tells the time of processors, on all machines.
const tick = time.Second / 100

// Figures are those of the process of the server. Where the system does not tell, the error is [errors.ErrUnsupported].
func (s *Server) Figures() (Figures, error) {
	pid, ok := s.PID()
	if !ok {
		return Figures{}, fmt.Errorf("figures of server %s: it is down", s.Name())
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return Figures{}, fmt.Errorf("figures of processes without /proc: %w", errors.ErrUnsupported)
	}
	f, err := figuresOf(fmt.Sprintf("/proc/%d/", pid))
	if err != nil {
		return f, fmt.Errorf("figures of server %s: %w", s.Name(), err)
	}
	return f, nil
}

// figuresOf reads a folder of /proc.
func figuresOf(dir string) (Figures, error) {
	var f Figures
	descriptors, err := os.ReadDir(dir + "fd")
	if err != nil {
		return f, err
	}
	f.Descriptors = len(descriptors)
	memory, err := numbers(dir+"statm", 1)
	if err != nil {
		return f, err
	}
	f.ResidentBytes = memory[0] * int64(os.Getpagesize())
	times, err := numbers(dir+"stat", 11, 12) // for itself, and in the system
	if err != nil {
		return f, err
	}
	f.CPU = time.Duration(times[0]+times[1]) * tick
	return f, nil
}

// numbers reads some of the fields of a file. They are counted from 0, and from after the name of the program if there is one,
// which stands in parentheses and may have any character.
func numbers(file string, fields ...int) ([]int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var found []int64
	for _, field := range fields {
		if field >= len(all) {
			return nil, fmt.Errorf("%s has no field %d", file, field)
		}
		n, err := strconv.ParseInt(all[field], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		found = append(found, n)
	}
	return found, nil
}
