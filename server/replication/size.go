package replication

import (
	"context"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Size is how many servers a new cluster has, as a block of the options tells: by its size, or by its routes, among which
// the server's own address may be.
type Size struct {
	// Fixed is the size that was configured, 0 for none.
	Fixed int
	// Routes are URLs of servers.
	Routes []string
	// Port is where this server listens for others, Advertise what it tells them, if anything.
	Port      int
	Advertise string
	// Lookup finds the addresses of a host, Local those of this machine.
	Lookup func(ctx context.Context, host string) ([]string, error)
	Local  func() ([]net.Addr, error)

	mu    sync.Mutex // guards what follows
	known int
	next  time.Time // when addresses are looked for again
}

// lookupTime bounds how long the addresses of one host are looked for; lookupPause is how long the answer is good for.
const (
	lookupTime  = 2 * time.Second
	lookupPause = 10 * time.Second
)

// Value returns the size, 0 if nothing says it: a server without routes is found by others, and cannot tell how many.
func (s *Size) Value() int {
	if s.Fixed > 0 || len(s.Routes) == 0 {
		return s.Fixed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.After(s.next) {
		s.known, s.next = s.count(), now.Add(lookupPause)
	}
	return s.known
}

// count counts the different addresses among the routes, and this server if it is none of them.
func (s *Size) count() int {
	others := map[string]bool{}
	for _, route := range s.Routes {
		if host, port := endpoint(route); !s.own(host, port) {
			others[net.JoinHostPort(host, port)] = true
		}
	}
	return len(others) + 1
}

// endpoint returns host and port of a route.
func endpoint(route string) (host, port string) {
	if u, err := url.Parse(route); err == nil && u.Host != "" {
		route = u.Host
	}
	host, port, err := net.SplitHostPort(route)
	if err != nil {
		return route, ""
	}
	return strings.ToLower(host), port
}

// own tells whether this server listens at an address.
func (s *Size) own(host, port string) bool {
	if strings.EqualFold(net.JoinHostPort(host, port), s.Advertise) {
		return true
	}
	if port != strconv.Itoa(s.Port) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
	defer cancel()
	addresses, err := s.Lookup(ctx, host)
	if err != nil {
		return false
	}
	local, err := s.Local()
	if err != nil {
		return false
	}
	for _, text := range addresses {
		ip := net.ParseIP(text)
		if ip.IsLoopback() {
			return true
		}
		for _, a := range local {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
				return true
			}
		}
	}
	return false
}
