package relay

import (
	"container/list"
	"sync"
	"time"
)

// The bounds of what is remembered; the oldest is forgotten first.
const (
	sentMost  = 8192
	sentBytes = 8 << 20
	// entryBytes is what is counted for a request besides its message.
	entryBytes = 256
)

// sent are requests that other servers were sent, one for each reply subject: a client that asks for more on the same one has no
// use for two answers. What has expired stays until its turn comes to be forgotten.
type sent struct {
	mu    sync.Mutex // guards all
	order list.List  // of *note, oldest first
	notes map[string]*list.Element
	bytes int
}

// note is one request, and who was sent it.
type note struct {
	request *request
	node    string
	until   time.Time
}

func (n *note) bytes() int { return entryBytes + n.request.message.Bytes() }

// note remembers a request that a node was sent, until a time.
func (s *sent) note(node string, q *request, until time.Time) {
	n := &note{request: q, node: node, until: until}
	if n.bytes() > sentBytes {
		return
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notes == nil {
		s.notes = make(map[string]*list.Element)
	}
	if e := s.notes[string(q.message.Reply)]; e != nil {
		s.removeLocked(e)
	}
	s.notes[string(q.message.Reply)] = s.order.PushBack(n)
	s.bytes += n.bytes()
	for e := s.order.Front(); e != nil && (len(s.notes) > sentMost || s.bytes > sentBytes || e.Value.(*note).until.Before(now)); {
		s.removeLocked(e)
		e = s.order.Front()
	}
}

// removeLocked forgets a request. The caller holds mu.
func (s *sent) removeLocked(e *list.Element) {
	n := s.order.Remove(e).(*note)
	delete(s.notes, string(n.request.message.Reply))
	s.bytes -= n.bytes()
}

// take returns the requests that a node was sent and that have not expired, and forgets them.
func (s *sent) take(node string) (list []*request) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := s.order.Front(); e != nil; {
		next := e.Next()
		if n := e.Value.(*note); n.node == node {
			s.removeLocked(e)
			if !n.until.Before(now) {
				list = append(list, n.request)
			}
		}
		e = next
	}
	return list
}
