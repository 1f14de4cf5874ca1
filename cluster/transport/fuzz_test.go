package transport_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/hashicorp/raft"

	"runnel/cluster/transport"
)

// FuzzFrames hands frames of all kinds to a server with a group, a service and files: whatever they hold, it must not panic or
// block.
func FuzzFrames(f *testing.F) {
	f.Add(uint8(1), transport.EncodeAppend(&raft.AppendEntriesRequest{Term: 3, Entries: entries(1, 2, 10)}))
	for k, r := range map[uint8]any{
		2: &raft.AppendEntriesRequest{Term: 3}, 3: &raft.RequestVoteRequest{Term: 3}, 4: &raft.RequestPreVoteRequest{Term: 3},
		5: &raft.TimeoutNowRequest{}, 6: &raft.InstallSnapshotRequest{Configuration: raft.EncodeConfiguration(raft.Configuration{})},
	} {
		f.Add(k, transport.EncodeRequest(r))
	}
	for k := range transport.LastKind + 2 {
		f.Add(k, []byte{})
		f.Add(k, make([]byte, 8))
		f.Add(k, append(make([]byte, 16), "\x04echohello"...))
		f.Add(k, make([]byte, 24))
		f.Add(k, bytes.Repeat([]byte{0xff}, 40))
	}
	tr := transport.New(transport.Config{Node: "self"})
	f.Cleanup(func() { tr.Close() })
	tr.Group(0, transport.GroupOptions{})
	tr.Group(2, transport.GroupOptions{}).SetHeartbeatHandler(func(raft.RPC) {})
	tr.Handle("echo", func(_ context.Context, _ string, payload []byte) ([]byte, error) { return payload, nil })
	tr.HandleFetch(func(context.Context, string, []byte, int64) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(make([]byte, 100))), nil
	})
	f.Fuzz(func(t *testing.T, k uint8, body []byte) {
		_ = transport.HandleFrame(tr, k, body)
	})
}

// FuzzRecode reads bodies and writes them again: what could be read must come out as it was.
func FuzzRecode(f *testing.F) {
	f.Add(uint8(1), transport.EncodeAppend(&raft.AppendEntriesRequest{Term: 3, Entries: entries(1, 2, 5000)}))
	f.Add(uint8(3), transport.EncodeRequest(&raft.RequestVoteRequest{Term: 3, LastLogIndex: 1}))
	f.Add(uint8(6), transport.EncodeRequest(&raft.InstallSnapshotRequest{Configuration: raft.EncodeConfiguration(raft.Configuration{})}))
	f.Add(uint8(7), make([]byte, 17))
	f.Fuzz(func(t *testing.T, k uint8, body []byte) {
		var got []byte
		var err error
		switch k {
		case 1:
			got, err = transport.RecodeAppend(body)
		case 2, 4, 5:
			got, err = transport.RecodeRequest(k, body)
		case 6:
			got, err = transport.RecodeInstall(body)
		default:
			return // others have booleans, which are read from any byte
		}
		if err == nil && !bytes.Equal(got, body) {
			t.Errorf("kind %d: read\n%x, written\n%x", k, body, got)
		}
	})
}

// TestResponsesComeBack writes and reads what raft answers.
func TestResponsesComeBack(t *testing.T) {
	for _, body := range [][]byte{append(make([]byte, 16), 3), append(bytes.Repeat([]byte{1}, 16), 0)} {
		got, err := transport.RecodeResponse(body, &raft.AppendEntriesResponse{})
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("got %x, %v, want %x", got, err, body)
		}
	}
	for _, r := range []any{&raft.RequestVoteResponse{}, &raft.RequestPreVoteResponse{}, &raft.InstallSnapshotResponse{}} {
		body := append(bytes.Repeat([]byte{2}, 8), 1)
		if got, err := transport.RecodeResponse(body, r); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%T: got %x, %v, want %x", r, got, err, body)
		}
		if _, err := transport.RecodeResponse(body[:8], r); err == nil {
			t.Errorf("%T: no error for one that is too short", r)
		}
	}
}
