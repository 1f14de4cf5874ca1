// Package lazily has a part of something that is made when it is first needed, so that it costs next to nothing where it never
// is.
package lazily

import "sync"

// Value is such a part. The zero value has not made it yet. Its methods are safe for concurrent use.
type Value[T any] struct {
	once  sync.Once
	value *T
}

// Get returns the part, which the first call makes. It is nil after End, if there was no call before.
func (v *Value[T]) Get(create func() *T) *T {
	v.once.Do(func() { v.value = create() })
	return v.value
}

// End returns the part if it was made, otherwise nil; then it is never made.
func (v *Value[T]) End() *T { return v.Get(func() *T { return nil }) }
