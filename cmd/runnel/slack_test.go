//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestCoarseTimers(t *testing.T) {
	tests := []struct {
		name string
		env  []string
		want int
	}{
		{"by default", []string{"RUNNEL_TIMERS="}, serverSlack},
		{"somebody wants them fine", []string{"RUNNEL_TIMERS=fine"}, usualSlack},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := startDaemon(t, test.env)
			d.waitLine("Server is ready")
			pid := d.cmd.Process.Pid // the same after it was started again
			got, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", pid))
			if err != nil {
				t.Skip("the setting of another process cannot be read here:", err)
			}
			if strings.TrimSpace(string(got)) != fmt.Sprint(test.want) {
				t.Errorf("got a slack of %s ns, want %d", got, test.want)
			}
		})
	}
}

func TestIsTool(t *testing.T) {
	tests := []struct {
		args []string
		want bool
	}{
		{nil, false},
		{[]string{"-c", "server.conf"}, false},
		{[]string{"bench", "pub"}, true},
		{[]string{"store", "check"}, true},
		{[]string{"-n", "bench"}, false},
	}
	for _, test := range tests {
		if got := isTool(test.args); got != test.want {
			t.Errorf("%q: got %t, want %t", test.args, got, test.want)
		}
	}
}
