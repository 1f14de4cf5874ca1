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
		events, changed, finished := m.takeEvents()
		for _, e := range events {
			if e.ended {
				m.handler.Unlinked(e.link, e.reason)
			} else {
				m.handler.Linked(e.link)
			}
		}
		if changed {
			m.handler.MembersChanged(m.Self(), m.Members())
		}
		if finished && len(events) == 0 {
			return
		}
		if len(events) == 0 && !changed {
			<-m.news
		}
	}
}

func (m *Mesh) takeEvents() (events []event, changed, finished bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	events, changed, finished = m.events, m.changed, m.finished
	m.events, m.changed = nil, false
	return events, changed, finished
}
