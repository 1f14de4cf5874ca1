package group_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"hash/fnv"
	"slices"
	"sync"

	"runnel/cluster/group"
)

// proposal is a record with an id; it expects to be answered once.
type proposal struct {
	id    uint64
	size  int
	check *checker
	done  func(sequence int, err error) // nil to do without

	mu      sync.Mutex
	answers int
}

func (p *proposal) Bytes() int { return 4 + max(p.size, 8) }

func (p *proposal) Append(dst []byte) []byte {
	body := make([]byte, max(p.size, 8))
	binary.LittleEndian.PutUint64(body, p.id)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body)))
	return append(dst, body...)
}

func (p *proposal) Fail(err error) { p.answer(0, err) }

func (p *proposal) answer(sequence int, err error) {
	p.mu.Lock()
	p.answers++
	again := p.answers > 1
	p.mu.Unlock()
	if again {
		p.check.errorf("proposal %d is answered again, with %d, %v", p.id, sequence, err)
		return
	}
	p.check.answered(p.id, sequence, err)
	if p.done != nil {
		p.done(sequence, err)
	}
}

// snapshot is a state with its place.
type snapshot struct {
	place group.Place
	ids   []uint64
}

// machine is a list of the ids that were proposed.
type machine struct {
	d     *disk
	log   *memLog
	check *checker
	node  string

	mu            sync.Mutex
	ids           []uint64
	hash          uint64
	index, term   uint64
	configuration []byte
	window        uint64 // entries that stay behind a flush
	installs      int
	refuse        error // what Apply fails with
	hold          chan struct{}
}

// newMachine finds what was flushed.
func newMachine(node string, d *disk, l *memLog, check *checker) *machine {
	m := &machine{d: d, log: l, check: check, node: node}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.flushed != nil {
		m.restore(*d.flushed)
	}
	return m
}

func (m *machine) restore(s snapshot) {
	m.ids, m.index, m.term, m.configuration = slices.Clone(s.ids), s.place.Index, s.place.Term, s.place.Configuration
	m.hash = 0
	for _, id := range m.ids {
		m.mix(id)
	}
}

func (m *machine) mix(id uint64) {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, [2]uint64{m.hash, id})
	m.hash = h.Sum64()
}

func (m *machine) Apply(index, term uint64, records []byte, local []group.Proposal) error {
	m.mu.Lock()
	hold := m.hold
	m.mu.Unlock()
	if hold != nil {
		<-hold
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse != nil {
		return m.refuse
	}
	if index <= m.index {
		if local != nil {
			m.check.errorf("%s: entry %d of this opening comes again", m.node, index)
		}
		return nil
	}
	n := 0
	for len(records) > 0 {
		size := binary.LittleEndian.Uint32(records)
		id := binary.LittleEndian.Uint64(records[4:])
		records = records[4+size:]
		m.ids = append(m.ids, id)
		m.mix(id)
		if local != nil {
			p := local[n].(*proposal)
			if p.id != id {
				m.check.errorf("%s: record %d of entry %d is %d, its proposal %d", m.node, n, index, id, p.id)
			}
			m.check.acked(index, term)
			p.answer(len(m.ids), nil)
		}
		n++
	}
	if local != nil && n != len(local) {
		m.check.errorf("%s: entry %d has %d records and %d proposals", m.node, index, n, len(local))
	}
	m.index, m.term = index, term
	m.check.at(m.node, index, m.hash)
	return nil
}

func (m *machine) Configuration(index, term uint64, configuration []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.index, m.term, m.configuration = index, term, configuration
}

func (m *machine) Applied() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.index
}

func (m *machine) Place() group.Place {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	if m.d.flushed == nil {
		return group.Place{}
	}
	return m.d.flushed.place
}

// flush writes the state down and drops what the log does not need for it.
func (m *machine) flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	if m.log.alive() != nil || m.index == 0 {
		return
	}
	m.d.flushed = &snapshot{place: group.Place{Index: m.index, Term: m.term, Configuration: m.configuration}, ids: slices.Clone(m.ids)}
	if m.index > m.window {
		m.d.dropped = max(m.d.dropped, m.index-m.window)
		m.log.drop(m.d.dropped)
	}
}

func (m *machine) Checkpoint() (*group.Checkpoint, error) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	if m.d.flushed == nil {
		return nil, errors.New("nothing was flushed")
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(m.d.flushed.ids); err != nil {
		return nil, err
	}
	return &group.Checkpoint{Place: m.d.flushed.place, Metadata: b.Bytes()}, nil
}

func (m *machine) Install(_ context.Context, _ string, place group.Place, metadata []byte) error {
	s := snapshot{place: place}
	if err := gob.NewDecoder(bytes.NewReader(metadata)).Decode(&s.ids); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	if err := m.log.alive(); err != nil {
		return err
	}
	m.d.flushed = &s
	m.restore(s)
	m.installs++
	m.check.at(m.node, place.Index, m.hash)
	return nil
}

// list is a copy of the state.
func (m *machine) list() []uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.ids)
}
