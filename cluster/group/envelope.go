package group

import (
	"encoding/binary"
	"errors"
	"fmt"
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
