package main

import (
	"fmt"
	"net"
	"strings"
)

// serviceManager tells systemd how the server is doing, by the protocol of
// sd_notify: a datagram of lines to the socket named in NOTIFY_SOCKET. Without
// that it tells nobody.
type serviceManager struct{ socket string }

// newServiceManager finds the socket in the environment.
func newServiceManager(getenv func(string) string) *serviceManager {
	socket := getenv("NOTIFY_SOCKET")
	if rest, ok := strings.CutPrefix(socket, "@"); ok {
		socket = "\x00" + rest // in the abstract name space
	}
	return &serviceManager{socket}
}

// ready says that the server serves, at first or again.
func (m *serviceManager) ready() error { return m.notify("READY=1") }

// reloading says that the configuration is being read again. The time tells
// the manager this reload from an earlier one.
func (m *serviceManager) reloading() error {
	if m.socket == "" {
		return nil
	}
	now, err := monotonicMicroseconds()
	if err != nil {
		return fmt.Errorf("notify service manager: clock: %w", err)
	}
	return m.notify(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now))
}

// stopping says that the server is about to end.
func (m *serviceManager) stopping() error { return m.notify("STOPPING=1") }

func (m *serviceManager) notify(text string) error {
	if m.socket == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("notify service manager: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(text)); err != nil {
		return fmt.Errorf("notify service manager: %w", err)
	}
	return nil
}
