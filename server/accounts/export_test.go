package accounts

// Shared returns how many profiles the registry keeps for grants.
func (r *Registry) Shared() int {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	return len(r.pool.known)
}
