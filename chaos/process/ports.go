package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
)

// Servers get ports from below those that systems give to outgoing connections, so that nobody takes one while its
// server is down.
const (
	portMin = 12000
	portMax = 31000
)

// FreePorts returns ports of the loopback address that nobody listens on, and that are not taken by who is down.
func FreePorts(n int, taken []int) ([]int, error) {
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close() // it was only to see that the port is free
		}
	}()
	var ports []int
	for range 100 * n {
		port := portMin + rand.IntN(portMax-portMin)
		if slices.Contains(taken, port) {
			continue
		}
		l, err := net.Listen("tcp", Loopback(port))
		if err != nil {
			continue
		}
		listeners, ports = append(listeners, l), append(ports, port)
		if len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.New("no free ports on the loopback address")
}

// Loopback is the address of a port on the loopback interface.
func Loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
