package group

import (
	"encoding/binary"
	"fmt"

	"github.com/hashicorp/raft"
)

// A configuration, as places and machines have it, is the index (8) of the entry that it came with and raft's own encoding.

// encodeConfiguration joins both.
func encodeConfiguration(index uint64, c raft.Configuration) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, index), raft.EncodeConfiguration(c)...)
}

// decodeConfiguration splits them again.
func decodeConfiguration(b []byte) (index uint64, c raft.Configuration, err error) {
	if len(b) <= 8 {
		return 0, c, fmt.Errorf("a configuration of %d bytes", len(b))
	}
	index, b = binary.LittleEndian.Uint64(b), b[8:]
	if c, ok := quickConfiguration(b); ok {
		return index, c, nil
	}
	defer func() {
		// raft panics on bytes that it has not written.
		if r := recover(); r != nil {
			err = fmt.Errorf("decode a configuration: %v", r)
		}
	}()
	return index, raft.DecodeConfiguration(b), nil
}

// Members are the nodes of an encoded configuration, those with a vote and those without.
func Members(configuration []byte) (voters, others []string, err error) {
	_, c, err := decodeConfiguration(configuration)
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			voters = append(voters, string(s.ID))
		} else {
			others = append(others, string(s.ID))
		}
	}
	return voters, others, err
}

// quickConfiguration reads what raft writes: a map of one list, of maps with three keys each. It is not ok for whatever else may mean
// a configuration too, which is left to raft. Raft's decoder learns anew each time what it decodes, which takes kilobytes, and a
// server that opens thousands of groups decodes several times as many configurations.
func quickConfiguration(b []byte) (c raft.Configuration, ok bool) {
	r := packed{b: b}
	r.expect(packedMap | 1)
	r.bad = string(r.text()) != "Servers" || r.bad
	c.Servers = make([]raft.Server, r.list())
	for i := range c.Servers {
		s := &c.Servers[i]
		r.expect(packedMap | 3)
		seen := 0
		for range 3 {
			switch string(r.text()) {
			case "Suffrage":
				s.Suffrage, seen = raft.ServerSuffrage(r.byte()), seen|1
			case "ID":
				s.ID, seen = raft.ServerID(r.text()), seen|2
			case "Address":
				s.Address, seen = raft.ServerAddress(r.text()), seen|4
			}
		}
		// Nodes have their names for addresses: one copy does.
		if string(s.Address) == string(s.ID) {
			s.Address = raft.ServerAddress(s.ID)
		}
		r.bad = r.bad || seen != 7 || s.Suffrage > raft.Staging
	}
	return c, !r.bad && len(r.b) == 0 && len(c.Servers) > 0
}

// The first byte of what is in it, in MessagePack: of most the upper bits say what follows, the others how much.
const (
	packedMap  = 0x80
	packedList = 0x90
	packedText = 0xa0
	packedLong = 0xda // a text of more than 31 bytes, its length in the next two
)

// packed reads them. Once something is not as expected it is bad, and what it returns says nothing.
type packed struct {
	b   []byte
	bad bool
}

// take returns the next n bytes, nil if there are not so many.
func (r *packed) take(n int) []byte {
	if r.bad = r.bad || n > len(r.b); r.bad {
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *packed) byte() byte {
	for _, b := range r.take(1) {
		return b
	}
	return 0
}

func (r *packed) expect(want byte) { r.bad = r.byte() != want || r.bad }

// list returns how long the list is that begins here.
func (r *packed) list() int {
	n := r.byte() ^ packedList
	r.bad = r.bad || n > 15
	return int(n & 15)
}

// text returns the bytes of a text.
func (r *packed) text() []byte {
	head := r.byte()
	if head == packedLong {
		long := r.take(2)
		if long == nil {
			return nil
		}
		return r.take(int(binary.BigEndian.Uint16(long)))
	}
	n := head ^ packedText
	r.bad = r.bad || n > 31
	return r.take(int(n))
}
