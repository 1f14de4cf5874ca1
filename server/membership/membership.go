// Package membership says where the clients of a cluster can connect: it makes the addresses that a server tells of itself,
// and the lists that clients get of all servers. It knows no socket; who the servers are is what the mesh says.
package membership

import (
	"net"
	"slices"
	"strconv"

	"runnel/cluster/mesh"
)

// Listener is where clients of one kind connect to this server.
type Listener struct {
	Host string // as configured; one that means all interfaces stands for the addresses of the machine
	Port int    // that was bound; 0 is no listener
	// Advertise is what is told in place of Host and Port, each if it is in it: host or host:port.
	Advertise string
}

// maxURLs is how many addresses a server tells of one listener. The mesh takes more, but clients would not know what to do
// with them.
const maxURLs = 32

// URLs are the host:port that clients reach the listener at. interfaces are the addresses of the machine; without any,
// a listener on all of them has none that another machine could use.
func (l Listener) URLs(interfaces []string) []string {
	if l.Port == 0 {
		return nil
	}
	if l.Advertise != "" {
		return []string{Advertised(l.Advertise, l.Port)}
	}
	hosts := []string{l.Host}
	if ip := net.ParseIP(l.Host); l.Host == "" || ip != nil && ip.IsUnspecified() {
		hosts = interfaces[:min(len(interfaces), maxURLs)]
	}
	urls := make([]string, 0, len(hosts))
	for _, h := range hosts {
		urls = append(urls, net.JoinHostPort(h, strconv.Itoa(l.Port)))
	}
	return urls
}

// Advertised completes an address that others are told, host or host:port, with the port that was bound.
func Advertised(address string, port int) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	if n := len(address); n > 1 && address[0] == '[' && address[n-1] == ']' {
		address = address[1 : n-1]
	}
	return net.JoinHostPort(address, strconv.Itoa(port))
}

// ClientURLs are where clients can connect in the whole cluster: to this server, then to the others in their order. Each
// is told once, and who is about to stop is left out.
func ClientURLs(self mesh.Member, others []mesh.Member) []string {
	return urls(self, others, func(m *mesh.Member) []string { return m.ClientURLs })
}

// WebsocketURLs are the same for clients that speak WebSocket.
func WebsocketURLs(self mesh.Member, others []mesh.Member) []string {
	return urls(self, others, func(m *mesh.Member) []string { return m.WebsocketURLs })
}

func urls(self mesh.Member, others []mesh.Member, of func(*mesh.Member) []string) []string {
	var all []string
	seen := make(map[string]bool)
	add := func(m *mesh.Member) {
		if m.LameDuck {
			return
		}
		for _, u := range of(m) {
			if !seen[u] {
				seen[u] = true
				all = append(all, u)
			}
		}
	}
	add(&self)
	for i := range others {
		add(&others[i])
	}
	return slices.Clip(all)
}
