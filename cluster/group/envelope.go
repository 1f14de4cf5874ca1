package group

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// An entry of raft carries
//
//	version (1) | kind (1) | group (8) | instance (8) | number (8) | records
//
// with integers in little endian. Instance and number say which opened replica made it and with which number, so that its
// maker finds the proposals. The group is in it so that several groups may share one log of raft some day.
const (
	envelopeVersion = 1
	envelopeBytes   = 26
)

// kind is what an entry is for.
type kind uint8

const (
	kindRecords kind = iota // for the machine
	kindBarrier             // tells a new leader that all before it is applied
	kindCompare             // has each replica look at its state as of then
)

// envelope is the head of an entry.
type envelope struct {
	kind     kind
	group    uint64
	instance uint64
	number   uint64
}

// append adds the encoded head to dst.
func (e envelope) append(dst []byte) []byte {
	dst = append(dst, envelopeVersion, byte(e.kind))
	dst = binary.LittleEndian.AppendUint64(dst, e.group)
	dst = binary.LittleEndian.AppendUint64(dst, e.instance)
	return binary.LittleEndian.AppendUint64(dst, e.number)
}

// decodeEnvelope splits an entry into head and records.
func decodeEnvelope(b []byte) (e envelope, records []byte, err error) {
	if len(b) == 0 {
		return e, nil, errors.New("an entry without content")
	}
	if b[0] != envelopeVersion {
		return e, nil, fmt.Errorf("an entry of version %d, known is %d: this server is older than the one that wrote it", b[0], envelopeVersion)
	}
	if len(b) < envelopeBytes {
		return e, nil, fmt.Errorf("an entry of %d bytes, its head has %d", len(b), envelopeBytes)
	}
	e.kind = kind(b[1])
	e.group = binary.LittleEndian.Uint64(b[2:])
	e.instance = binary.LittleEndian.Uint64(b[10:])
	e.number = binary.LittleEndian.Uint64(b[18:])
	if e.kind > kindCompare {
		return e, nil, fmt.Errorf("an entry of kind %d, which this server does not know", e.kind)
	}
	return e, b[envelopeBytes:], nil
}

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
	defer func() {
		// raft panics on bytes that it has not written.
		if r := recover(); r != nil {
			err = fmt.Errorf("decode a configuration: %v", r)
		}
	}()
	return binary.LittleEndian.Uint64(b), raft.DecodeConfiguration(b[8:]), nil
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
