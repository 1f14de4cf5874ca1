package store

import "runnel/jetlog"

// peekLayers is how many files are asked about a subject at most by one who must not take his time.
const peekLayers = 32

// Peek returns a message, with sequence 0 if there is none, but only if that is known at once: from memory, and while
// nobody changes the stream. If not, known is false, and Load will tell. It never waits. Slices of the message must not
// be changed.
func (t *Stream) Peek(seq uint64) (m jetlog.Message, known bool) {
	if !t.mu.TryRLock() {
		return m, false
	}
	defer t.mu.RUnlock()
	if t.state == nil {
		return m, false
	}
	m, err := t.messages.Load(seq)
	return m, err == nil
}

// PeekLast is Peek for the last message of exactly this subject.
func (t *Stream) PeekLast(subject string) (m jetlog.Message, known bool) {
	if !t.mu.TryRLock() {
		return m, false
	}
	defer t.mu.RUnlock()
	if t.state == nil || t.body != nil && t.body.Asked > peekLayers {
		return m, false
	}
	seq, err := t.messages.LastOf(jetlog.Filter{subject}, ^uint64(0))
	if err != nil || seq == 0 {
		return m, err == nil
	}
	m, err = t.messages.Load(seq)
	return m, err == nil
}
