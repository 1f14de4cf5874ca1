// Package preamble reads what a load balancer puts before a connection that it passes on: the PROXY protocol, versions
// 1 and 2, which says where the client comes from.
//
//	version 1   PROXY TCP4 192.0.2.1 198.51.100.1 51234 4222\r\n
//	            PROXY UNKNOWN ...\r\n
//	version 2   12 bytes of signature, version and command, family and transport, length (2 bytes),
//	            then so many bytes: source and destination address, their ports, and extensions
//
// Whoever can connect can write such a preamble, so it proves nothing unless only the load balancer can connect.
package preamble

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// ErrMalformed is in every error about what a preamble says.
var ErrMalformed = errors.New("malformed PROXY preamble")

const (
	// MaxLineBytes is the longest line of version 1, its end included.
	MaxLineBytes = 107
	// MaxAddressBytes bounds what follows the head of version 2; the longest address takes 216 bytes.
	MaxAddressBytes = 2048

	lineStart = "PROXY "
	signature = "\r\n\r\n\x00\r\nQUIT\n"
	headBytes = len(signature) + 4
)

// Preamble is what was read.
type Preamble struct {
	// Source is where the client comes from. It is not valid where the load balancer speaks for itself or does not
	// know: then the connection is what it seems.
	Source netip.AddrPort
}

// Parse reads the beginning of a connection. need is how many bytes more there must be, at least: 0 when the decision is
// made, and then used is the length of the preamble, 0 for a connection that begins without one. Reading no more than
// need bytes at a time never reads past the preamble.
func Parse(b []byte) (p Preamble, used, need int, err error) {
	switch {
	case len(b) == 0:
		return Preamble{}, 0, 1, nil
	case hasPrefix(b, signature):
		return parseBinary(b)
	case hasPrefix(b, lineStart):
		return parseLine(b)
	}
	return Preamble{}, 0, 0, nil
}

// hasPrefix reports whether b begins with prefix, as far as it goes.
func hasPrefix(b []byte, prefix string) bool {
	n := min(len(b), len(prefix))
	return string(b[:n]) == prefix[:n]
}

// parseLine reads version 1, which has no length: it comes one byte at a time.
func parseLine(b []byte) (p Preamble, used, need int, err error) {
	end := bytes.IndexByte(b, '\n')
	switch {
	case end < 0 && len(b) >= MaxLineBytes, end >= MaxLineBytes:
		return Preamble{}, 0, 0, fmt.Errorf("%w: a line of more than %d bytes", ErrMalformed, MaxLineBytes)
	case end < 0:
		return Preamble{}, 0, 1, nil
	case b[end-1] != '\r':
		return Preamble{}, 0, 0, fmt.Errorf("%w: a line that does not end in CRLF", ErrMalformed)
	}
	words := strings.Split(string(b[len(lineStart):end-1]), " ")
	if words[0] == "UNKNOWN" {
		return Preamble{}, end + 1, 0, nil
	}
	if len(words) != 5 {
		return Preamble{}, 0, 0, fmt.Errorf("%w: %d words, want 6", ErrMalformed, len(words)+1)
	}
	if p.Source, err = address(words[0], words[1], words[3]); err == nil {
		_, err = address(words[0], words[2], words[4])
	}
	if err != nil {
		return Preamble{}, 0, 0, err
	}
	return p, end + 1, 0, nil
}

// address reads one address of version 1.
func address(family, ip, port string) (netip.AddrPort, error) {
	a, err := netip.ParseAddr(ip)
	if err != nil || a.Zone() != "" {
		return netip.AddrPort{}, fmt.Errorf("%w: %q is not an address", ErrMalformed, ip)
	}
	if family != "TCP4" && family != "TCP6" {
		return netip.AddrPort{}, fmt.Errorf("%w: family %q", ErrMalformed, family)
	}
	if a.Is4() != (family == "TCP4") {
		return netip.AddrPort{}, fmt.Errorf("%w: %s is not an address of %s", ErrMalformed, ip, family)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%w: %q is not a port", ErrMalformed, port)
	}
	return netip.AddrPortFrom(a, uint16(n)), nil
}

// Parts of the head of version 2.
const (
	version2    = 0x20
	local       = 0 // the load balancer speaks for itself: a health check
	proxied     = 1
	streamOver4 = 0x11
	streamOver6 = 0x21
)

// parseBinary reads version 2.
func parseBinary(b []byte) (p Preamble, used, need int, err error) {
	if len(b) < len(signature) {
		return Preamble{}, 0, 1, nil // it may still turn out to be none
	}
	if len(b) < headBytes {
		return Preamble{}, 0, headBytes - len(b), nil
	}
	command, family := b[len(signature)], b[len(signature)+1]
	length := int(binary.BigEndian.Uint16(b[len(signature)+2:]))
	switch {
	case command&0xf0 != version2:
		return Preamble{}, 0, 0, fmt.Errorf("%w: version %d", ErrMalformed, command>>4)
	case command&0x0f > proxied:
		return Preamble{}, 0, 0, fmt.Errorf("%w: command %d", ErrMalformed, command&0x0f)
	case length > MaxAddressBytes:
		return Preamble{}, 0, 0, fmt.Errorf("%w: %d bytes of addresses, at most %d", ErrMalformed, length, MaxAddressBytes)
	case len(b) < headBytes+length:
		return Preamble{}, 0, headBytes + length - len(b), nil
	}
	used = headBytes + length
	if command&0x0f == local {
		return Preamble{}, used, 0, nil
	}
	if p.Source, err = binaryAddress(family, b[headBytes:used]); err != nil {
		return Preamble{}, 0, 0, err
	}
	return p, used, 0, nil
}

// binaryAddress reads the source of version 2. What follows the addresses is not needed.
func binaryAddress(family byte, b []byte) (netip.AddrPort, error) {
	bytesOf := 0
	switch family {
	case streamOver4:
		bytesOf = 4
	case streamOver6:
		bytesOf = 16
	default:
		return netip.AddrPort{}, fmt.Errorf("%w: family and transport %#x: only TCP over IPv4 and IPv6 is known", ErrMalformed, family)
	}
	if len(b) < 2*bytesOf+4 {
		return netip.AddrPort{}, fmt.Errorf("%w: %d bytes of addresses, want %d", ErrMalformed, len(b), 2*bytesOf+4)
	}
	a, _ := netip.AddrFromSlice(b[:bytesOf]) // either length is one of an address
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(b[2*bytesOf:])), nil
}
