package store

import (
	"fmt"

	"runnel/jetlog/entries"
)

// ToReplica makes a stream the first replica of a group, which begins at a place with what the stream has now. Commands that
// are on their way are carried out; later ones go to the group. It is safe when ToReplica returns.
func (s *Store) ToReplica(t *Stream, place entries.Place) error {
	return fmt.Errorf("stream %q becomes a replica: %w", t.name, errSolo)
}

// ToSolo makes a replica a stream without a group, with what was applied so far. The group must be closed. It is safe when
// ToSolo returns.
func (s *Store) ToSolo(t *Stream) error {
	return fmt.Errorf("stream %q: %w", t.name, errSolo)
}
