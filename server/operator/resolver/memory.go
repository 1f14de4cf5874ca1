package resolver

import (
	"context"
	"maps"
	"sync"
)

// Memory has the JWTs that it was given. They are gone when the server ends.
type Memory struct {
	mu     sync.Mutex // guards tokens
	tokens map[string]string
}

// NewMemory makes a resolver of JWTs by account.
func NewMemory(tokens map[string]string) *Memory {
	m := &Memory{tokens: maps.Clone(tokens)}
	if m.tokens == nil {
		m.tokens = make(map[string]string)
	}
	return m
}

// Fetch implements Resolver.
func (m *Memory) Fetch(_ context.Context, account string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if token, ok := m.tokens[account]; ok {
		return token, nil
	}
	return "", ErrNotFound
}

// Save has a JWT in place of the one that it has; an account that it does not have it does not get: ErrNotFound.
func (m *Memory) Save(account, token string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.tokens[account]; !ok {
		return ErrNotFound
	}
	m.tokens[account] = token
	return nil
}
