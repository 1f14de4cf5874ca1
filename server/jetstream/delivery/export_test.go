package delivery

// Working returns how many workers there are.
func (p *Pool) Working() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

// Held returns how many bytes are held.
func (p *Pool) Held() int64 { return p.held.Load() }
