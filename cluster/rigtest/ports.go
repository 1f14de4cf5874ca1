package rigtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Servers get ports from below those that systems give to outgoing connections, so that nobody takes one while its
// server is down.
const (
	portMin = 12000
	portMax = 31000
)

// freePorts returns ports of the loopback address that nobody listens on.
func freePorts(n int) ([]int, error) {
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close() // it was only to see that the port is free
		}
	}()
	var ports []int
	for range 100 * n {
		port := portMin + rand.IntN(portMax-portMin)
		l, err := net.Listen("tcp", address(port))
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

// address is a port of the loopback address.
func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
