package mesh

// event is a call of the handler that is due.
type event struct {
	link   *Link
	ended  bool
	reason error
}

// post adds an event. The mutex must be held. The queue is as long as links come and go faster than the handler
// looks at them, and each has cost its peer a handshake.
func (m *Mesh) post(e event) {
	m.events = append(m.events, e)
	m.wake()
}

// membersChanged notes that members or this server have changed, for the handler and for all peers. The mutex must be
// held.
func (m *Mesh) membersChanged() {
	m.changed = true
	m.wake()
	for _, s := range m.sessions {
		s.tell = true
		s.poke()
	}
}

// finish says that no more events will come.
func (m *Mesh) finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finished = true
	m.wake()
}

func (m *Mesh) wake() {
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// tell calls the handler until there is nothing more to tell.
func (m *Mesh) tell() {
	defer close(m.told)
	for {
		n := m.takeNews()
		for _, e := range n.events {
			if e.ended {
				m.handler.Unlinked(e.link, e.reason)
			} else {
				m.handler.Linked(e.link)
			}
		}
		switch {
		case n.changed:
			m.handler.MembersChanged(n.self, n.others)
		case len(n.events) > 0:
		case n.finished:
			return
		default:
			<-m.news
		}
	}
}

// news is what the handler has not been told yet. The members are those at the moment of the last event.
type news struct {
	events   []event
	changed  bool
	self     Member
	others   []Member
	finished bool
}

func (m *Mesh) takeNews() news {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := news{events: m.events, changed: m.changed, finished: m.finished}
	if n.changed {
		n.self, n.others = m.self.clone(), m.others(nil)
	}
	m.events, m.changed = nil, false
	return n
}
