package process

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

// Ports are ports of the loopback address that are kept for the servers of one harness, also while they are down: another
// harness on the same machine gets others. The zero value has none. It is not safe for concurrent use.
//
// A port is kept by a UDP socket of the same number, which no server uses: it goes with the process, however that ends.
type Ports struct {
	kept []net.PacketConn
}

// Take returns ports that nobody listens on and nobody keeps, and keeps them until Close.
func (p *Ports) Take(n int) ([]int, error) {
	var ports []int
	for range 100 * n {
		port := portMin + rand.IntN(portMax-portMin)
		if !p.take(port) {
			continue
		}
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.New("no free ports on the loopback address")
}

// take keeps a port if it is free.
func (p *Ports) take(port int) bool {
	mark, err := net.ListenPacket("udp4", Loopback(port))
	if err != nil {
		return false
	}
	l, err := net.Listen("tcp4", Loopback(port))
	if err != nil {
		_ = mark.Close() // somebody listens who does not keep ports in this way
		return false
	}
	_ = l.Close() // it was only to see that the port is free
	p.kept = append(p.kept, mark)
	return true
}

// Close keeps the ports no longer.
func (p *Ports) Close() error {
	var errs []error
	for _, mark := range p.kept {
		errs = append(errs, mark.Close())
	}
	p.kept = nil
	return errors.Join(errs...)
}

// Loopback is the address of a port on the loopback interface.
func Loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
