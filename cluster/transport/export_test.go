package transport

import (
	"bytes"
	"time"

	"github.com/hashicorp/raft"

	"runnel/cluster/mesh"
)

// nowhere is a link that takes everything and brings nothing.
type nowhere struct{ bytes.Buffer }

func (*nowhere) CloseWith(error) {}

// HandleFrame has a frame handled as if a peer had sent it.
func HandleFrame(t *Transport, k uint8, body []byte) error {
	l := t.newLane(t.peer("peer"), mesh.RaftData, &nowhere{})
	defer l.end(nil)
	return l.handle(kind(k), bytes.Clone(body))
}

// LastKind is the last kind of frames.
const LastKind = uint8(kindLast)

// RecodeAppend reads an AppendEntries and returns how it would have been sent.
func RecodeAppend(body []byte) ([]byte, error) {
	h, entries, err := readAppend(body)
	if err != nil {
		return nil, err
	}
	var f frame
	f.fillAppend(&h, entries)
	return bytes.Join(f.bufs, nil)[headBytes:], nil
}

// RecodeRequest reads a request of raft's and returns how it would have been sent.
func RecodeRequest(k uint8, body []byte) ([]byte, error) {
	id, group, request, err := readRequest(kind(k), body, raft.RPCHeader{})
	if err != nil {
		return nil, err
	}
	return putRequest(nil, id, group, request), nil
}

// RecodeInstall reads an InstallSnapshot and returns how it would have been sent.
func RecodeInstall(body []byte) ([]byte, error) {
	r, data, err := readInstall(body, raft.RPCHeader{})
	if err != nil {
		return nil, err
	}
	c := cursor{b: body}
	return append(putRequest(nil, c.uint64(), c.uint64(), r), data...), nil
}

// RecodeResponse reads an answer of raft's and returns how it would have been sent.
func RecodeResponse(body []byte, response any) ([]byte, error) {
	if err := readResponse(body, response); err != nil {
		return nil, err
	}
	return putResponse(nil, response), nil
}

// EncodeAppend is the body of an AppendEntries.
func EncodeAppend(a *raft.AppendEntriesRequest) []byte {
	h := appendHead{1, 2, a.Term, a.PrevLogEntry, a.PrevLogTerm, a.LeaderCommitIndex}
	var f frame
	f.fillAppend(&h, a.Entries)
	return bytes.Join(f.bufs, nil)[headBytes:]
}

// EncodeRequest is the body of any other request.
func EncodeRequest(r any) []byte { return putRequest(nil, 1, 2, r) }

// Round does what is due at a ping.
func Round(t *Transport) { t.round(time.Now()) }

// Follow has a group handle heartbeats of a term as if raft's main loop had followed the leader before.
func Follow(g *Group, term uint64) { g.followed.Store(term) }
