package group

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// snapshots is raft's view of the machine's places and checkpoints. Nothing is stored here: what there is, is
// the machine's last flush, and what comes in goes to the machine.
type snapshots struct {
	g *Group

	mu       sync.Mutex
	received *sink // the checkpoint that comes in, until it is installed
}

// metaOf describes a place to raft.
func metaOf(p Place, size int) (*raft.SnapshotMeta, error) {
	index, c, err := decodeConfiguration(p.Configuration)
	if err != nil {
		return nil, err
	}
	return &raft.SnapshotMeta{
		Version: 1, ID: fmt.Sprintf("flush-%d-%d", p.Term, p.Index), Index: p.Index, Term: p.Term,
		Configuration: c, ConfigurationIndex: index, Size: int64(size),
	}, nil
}

// List names the last flush, or nothing on a replica that has no state.
func (s *snapshots) List() ([]*raft.SnapshotMeta, error) {
	p := s.g.cfg.Machine.Place()
	if p.Index == 0 {
		return nil, nil
	}
	m, err := metaOf(p, 0)
	if err != nil {
		return nil, err
	}
	return []*raft.SnapshotMeta{m}, nil
}

// Open gives the checkpoint that was just received, or that of the last flush: it may be newer than what List has
// named, and raft goes by what it gets here.
func (s *snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	s.mu.Lock()
	in := s.received
	s.mu.Unlock()
	if in != nil && in.id == id {
		m, err := metaOf(in.place, in.Len())
		return m, io.NopCloser(bytes.NewReader(in.Bytes())), err
	}
	c, err := s.g.cfg.Machine.Checkpoint()
	if err != nil {
		return nil, nil, fmt.Errorf("describe the last flush: %w", err)
	}
	m, err := metaOf(c.Place, len(c.Metadata))
	if err != nil {
		return nil, nil, err
	}
	return m, &checkpointReader{Reader: bytes.NewReader(c.Metadata), release: c.Release}, nil
}

// checkpointReader holds a checkpoint until raft has sent it and the receiver has what is in it.
type checkpointReader struct {
	*bytes.Reader
	release func()
}

// Close lets go of the checkpoint.
func (r *checkpointReader) Close() error {
	if r.release != nil {
		r.release()
		r.release = nil
	}
	return nil
}

// errPast says that a checkpoint brings nothing new. The leader knows it by its text, see courier.InstallSnapshot.
var errPast = errors.New("the replica is past the checkpoint")

// Create begins to receive a checkpoint from the leader. One that is late is refused: what is behind it in the log was
// confirmed, and would be lost. A leader needs to send one only where its own entries do not fit.
func (s *snapshots) Create(_ raft.SnapshotVersion, index, term uint64, c raft.Configuration, configurationIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	<-s.g.started
	if applied := s.g.cfg.Machine.Applied(); index <= applied {
		return nil, fmt.Errorf("%w: it is at %d, and all up to %d is applied here", errPast, index, applied)
	}
	if s.g.log.has(index, term) {
		return nil, fmt.Errorf("%w: it is at %d, and the log goes on from there", errPast, index)
	}
	_, from := s.g.raft.LeaderWithID()
	in := &sink{
		s: s, id: fmt.Sprintf("received-%d-%d", term, index), from: string(from),
		place: Place{Index: index, Term: term, Configuration: encodeConfiguration(configurationIndex, c)},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = in
	return in, nil
}

// take gives the checkpoint that was received, once.
func (s *snapshots) take() *sink {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.received
	s.received = nil
	return in
}

// sink collects the metadata of a checkpoint.
type sink struct {
	bytes.Buffer
	s     *snapshots
	id    string
	from  string
	place Place
}

// ID names the checkpoint for Open.
func (k *sink) ID() string { return k.id }

// Close says that all has come.
func (k *sink) Close() error { return nil }

// Cancel says that the rest will not come.
func (k *sink) Cancel() error {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	if k.s.received == k {
		k.s.received = nil
	}
	return nil
}

// install has the machine take over the checkpoint that was received. Raft waits meanwhile, so this replica neither votes nor
// campaigns before it has what it will claim to have.
func (g *Group) install(metadata []byte) error {
	in := g.places.take()
	if in == nil {
		return errors.New("install a checkpoint: none was received")
	}
	if err := g.failed(); err != nil {
		return err
	}
	g.logger.Debug("a checkpoint is installed", "group", g.cfg.ID, "from", in.from, "index", in.place.Index)
	if err := g.cfg.Machine.Install(g.ctx, in.from, in.place, metadata); err != nil {
		return fmt.Errorf("install a checkpoint of %s at %d: %w", in.from, in.place.Index, err)
	}
	g.skipped()
	index, _, err := decodeConfiguration(in.place.Configuration)
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.info.configuration = index
	g.mu.Unlock()
	if err := g.log.installed(in.place); err != nil {
		err = fmt.Errorf("after the checkpoint at %d: %w", in.place.Index, err)
		g.fail(err)
		return err
	}
	return nil
}
