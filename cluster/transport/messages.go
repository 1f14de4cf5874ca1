package transport

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// The bodies of raft's requests begin with the id of the request and the group. What raft's header says is not
// sent: the link tells who the peer is.

// isHeartbeat reports whether raft means no more by it than that it leads. It is asked of what raft has sent, before
// the commit index is clamped.
func isHeartbeat(a *raft.AppendEntriesRequest) bool {
	return a.Term != 0 && a.PrevLogEntry == 0 && a.PrevLogTerm == 0 && len(a.Entries) == 0 && a.LeaderCommitIndex == 0
}

// appendHead is what an AppendEntries says besides its entries.
type appendHead struct {
	id, group, term, prev, prevTerm, commit uint64
}

func putAppendHead(b []byte, h *appendHead, entries int) []byte {
	b = putUint64s(b, h.id, h.group, h.term, h.prev, h.prevTerm, h.commit)
	return append(b, byte(entries), byte(entries>>8), byte(entries>>16), byte(entries>>24))
}

// putEntryHead appends what comes before the data and extensions of an entry.
func putEntryHead(b []byte, e *raft.Log) []byte {
	b = putUint64s(b, e.Index, e.Term)
	b = append(b, byte(e.Type))
	var at uint64
	if !e.AppendedAt.IsZero() {
		at = uint64(e.AppendedAt.UnixNano())
	}
	b = putUint64s(b, at)
	n, x := len(e.Data), len(e.Extensions)
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24), byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
}

// readAppend reads an AppendEntries whose entries point into body.
func readAppend(body []byte) (appendHead, []*raft.Log, error) {
	c := cursor{b: body}
	h := appendHead{c.uint64(), c.uint64(), c.uint64(), c.uint64(), c.uint64(), c.uint64()}
	n := int(c.uint32())
	if n > len(c.b)/entryHeadBytes {
		return h, nil, errFrame
	}
	logs := make([]raft.Log, n)
	entries := make([]*raft.Log, n)
	for i := range logs {
		readEntry(&c, &logs[i])
		entries[i] = &logs[i]
	}
	if err := c.end(); err != nil {
		return h, nil, err
	}
	return h, entries, h.check(logs)
}

// check refuses entries that raft would end the process for: once they were in a log, at each start.
func (h *appendHead) check(entries []raft.Log) error {
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Index != h.prev+1+uint64(i):
			return fmt.Errorf("%w: entry %d is the one behind %d", errFrame, e.Index, h.prev+uint64(i))
		case e.Type == raft.LogCommand, e.Type == raft.LogNoop, e.Type == raft.LogBarrier:
		case e.Type == raft.LogConfiguration && decodable(e.Data):
		default:
			return fmt.Errorf("%w: entry %d, of type %d, is none of raft's", errFrame, e.Index, e.Type)
		}
	}
	return nil
}

// decodable reports whether raft can read a configuration. It panics if it cannot.
func decodable(configuration []byte) (ok bool) {
	defer func() { _ = recover() }()
	raft.DecodeConfiguration(configuration)
	return true
}

func readEntry(c *cursor, e *raft.Log) {
	e.Index, e.Term, e.Type = c.uint64(), c.uint64(), raft.LogType(c.uint8())
	if at := c.uint64(); at != 0 {
		e.AppendedAt = time.Unix(0, int64(at))
	}
	n, x := int(c.uint32()), int(c.uint32())
	e.Data = c.take(n)
	if x > 0 {
		e.Extensions = c.take(x)
	}
}

// putRequest appends the body of a request of raft's other than AppendEntries with entries.
func putRequest(b []byte, id, group uint64, request any) []byte {
	b = putUint64s(b, id, group)
	switch r := request.(type) {
	case *raft.AppendEntriesRequest: // a heartbeat
		b = putUint64s(b, r.Term)
	case *raft.RequestVoteRequest:
		b = putBool(putUint64s(b, r.Term, r.LastLogIndex, r.LastLogTerm), r.LeadershipTransfer)
	case *raft.RequestPreVoteRequest:
		b = putUint64s(b, r.Term, r.LastLogIndex, r.LastLogTerm)
	case *raft.InstallSnapshotRequest:
		b = append(b, byte(r.SnapshotVersion))
		b = putUint64s(b, r.Term, r.LastLogIndex, r.LastLogTerm, r.ConfigurationIndex, uint64(r.Size))
		b = putConfiguration(b, r.Configuration)
	}
	return b
}

// readRequest reads what putRequest has written, but for an InstallSnapshot, with the header of the peer.
func readRequest(k kind, body []byte, from raft.RPCHeader) (id, group uint64, request any, err error) {
	c := cursor{b: body}
	id, group = c.uint64(), c.uint64()
	switch k {
	case kindHeartbeat:
		request = &raft.AppendEntriesRequest{RPCHeader: from, Term: c.uint64()}
	case kindVote:
		request = &raft.RequestVoteRequest{
			RPCHeader: from,
			Term:      c.uint64(), LastLogIndex: c.uint64(), LastLogTerm: c.uint64(), LeadershipTransfer: c.bool(),
		}
	case kindPreVote:
		request = &raft.RequestPreVoteRequest{RPCHeader: from, Term: c.uint64(), LastLogIndex: c.uint64(), LastLogTerm: c.uint64()}
	case kindTimeoutNow:
		request = &raft.TimeoutNowRequest{RPCHeader: from}
	}
	return id, group, request, c.end()
}

// readInstall reads an InstallSnapshot; its data points into body.
func readInstall(body []byte, from raft.RPCHeader) (r *raft.InstallSnapshotRequest, data []byte, err error) {
	c := cursor{b: body}
	c.uint64() // id
	c.uint64() // group
	r = &raft.InstallSnapshotRequest{RPCHeader: from, SnapshotVersion: raft.SnapshotVersion(c.uint8())}
	r.Term, r.LastLogIndex, r.LastLogTerm = c.uint64(), c.uint64(), c.uint64()
	r.ConfigurationIndex, r.Size = c.uint64(), int64(c.uint64())
	r.Configuration = readConfiguration(&c)
	data = c.rest()
	if err = c.end(); err == nil && r.Size != int64(len(data)) {
		err = fmt.Errorf("%w: a snapshot of %d bytes comes with %d", errFrame, r.Size, len(data))
	}
	return r, data, err
}

// putConfiguration appends a configuration of raft's, whose own encoding is not for strangers: it panics at what it cannot read.
func putConfiguration(b, encoded []byte) []byte {
	var servers []raft.Server
	if len(encoded) > 0 {
		servers = raft.DecodeConfiguration(encoded).Servers
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(servers)))
	for _, s := range servers {
		b = putName(putName(append(b, byte(s.Suffrage)), string(s.ID)), string(s.Address))
	}
	return b
}

// readConfiguration reads what putConfiguration has written, into raft's encoding.
func readConfiguration(c *cursor) []byte {
	n := int(c.uint32())
	if n > len(c.b)/3 {
		c.short = true
		return nil
	}
	var configuration raft.Configuration
	for range n {
		configuration.Servers = append(configuration.Servers, raft.Server{
			Suffrage: raft.ServerSuffrage(c.uint8()), ID: raft.ServerID(c.name()), Address: raft.ServerAddress(c.name()),
		})
	}
	return raft.EncodeConfiguration(configuration)
}

// Flags of the answer to AppendEntries.
const (
	flagSuccess = 1 << iota
	flagNoBackoff
)

// putResponse appends what raft has answered.
func putResponse(b []byte, response any) []byte {
	switch r := response.(type) {
	case *raft.AppendEntriesResponse:
		var flags byte
		if r.Success {
			flags |= flagSuccess
		}
		if r.NoRetryBackoff {
			flags |= flagNoBackoff
		}
		b = append(putUint64s(b, r.Term, r.LastLog), flags)
	case *raft.RequestVoteResponse:
		b = putBool(putUint64s(b, r.Term), r.Granted)
	case *raft.RequestPreVoteResponse:
		b = putBool(putUint64s(b, r.Term), r.Granted)
	case *raft.InstallSnapshotResponse:
		b = putBool(putUint64s(b, r.Term), r.Success)
	}
	return b
}

// readResponse reads into response what putResponse has written of the same type.
func readResponse(body []byte, response any) error {
	c := cursor{b: body}
	switch r := response.(type) {
	case *raft.AppendEntriesResponse:
		r.Term, r.LastLog = c.uint64(), c.uint64()
		flags := c.uint8()
		r.Success, r.NoRetryBackoff = flags&flagSuccess != 0, flags&flagNoBackoff != 0
	case *raft.RequestVoteResponse:
		r.Term, r.Granted = c.uint64(), c.bool()
	case *raft.RequestPreVoteResponse:
		r.Term, r.Granted = c.uint64(), c.bool()
	case *raft.InstallSnapshotResponse:
		r.Term, r.Success = c.uint64(), c.bool()
	}
	return c.end()
}
