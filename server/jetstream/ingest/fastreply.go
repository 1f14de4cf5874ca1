package ingest

import (
	"strconv"
	"strings"
)

// operation is what a message of a fast batch asks for.
type operation uint8

// The operations, as they stand in the reply subject.
const (
	opStart  operation = iota // stored, the first of a batch
	opAppend                  // stored
	opCommit                  // stored, the last of a batch
	opEnd                     // not stored, ends the batch
	opPing                    // not stored, asks for the last flow acknowledgement again
	operations
)

// stores reports whether a message with this operation is stored.
func (o operation) stores() bool { return o <= opCommit }

// fastSuffix is how the reply subject of a message of a fast batch ends.
const fastSuffix = ".$FI"

// flow acknowledgements: how many messages apart they are if the publisher does not say, and at most.
const (
	flowDefault = 10
	flowMax     = 65535
)

// fastReply is what the reply subject of a message of a fast batch says:
//
//	<inbox, several tokens>.<batch>.<flow>.<gap mode>.<sequence>.<operation>.$FI
type fastReply struct {
	batch     string
	flow      int    // messages between flow acknowledgements
	gapOK     bool   // the batch goes on when a message is missing
	sequence  uint64 // of the message in its batch, from 1
	operation operation
}

// parseFastReply returns what a reply subject with fastSuffix says, and false when that makes no sense.
func parseFastReply(reply string) (fastReply, bool) {
	var f fastReply
	rest := strings.TrimSuffix(reply, fastSuffix)
	cut := func() string {
		i := strings.LastIndexByte(rest, '.')
		token := rest[i+1:]
		rest = rest[:max(i, 0)]
		return token
	}
	op, err := strconv.ParseUint(cut(), 10, 8)
	if err != nil || operation(op) >= operations {
		return f, false
	}
	f.operation = operation(op)
	f.sequence, err = strconv.ParseUint(cut(), 10, 64)
	if err != nil || f.sequence == 0 {
		return f, false
	}
	switch cut() {
	case "ok":
		f.gapOK = true
	case "fail":
	default:
		return f, false
	}
	f.flow, err = strconv.Atoi(cut())
	if err != nil || f.flow <= 0 {
		f.flow = flowDefault
	}
	f.flow = min(f.flow, flowMax)
	f.batch = cut()
	switch {
	case f.batch == "" || rest == "":
		return f, false
	case f.operation == opStart && f.sequence != 1, f.operation == opEnd && f.sequence == 1:
		return f, false
	}
	return f, true
}
