package group

import (
	"context"

	"runnel/jetlog/entries"
)

// What a log has, and up to where a state goes. The zero place is that of a replica that waits for a checkpoint.
type (
	Entry = entries.Entry
	Place = entries.Place
)

// Log is where a group keeps its entries and its votes: *entries.Log, or what tests have. Its methods may be called by many goroutines, but only one at a time
// changes it. Slices that it is given or gives belong to both and are not changed.
type Log interface {
	// First and Last are the indexes of what there is; 0 and 0 if nothing.
	First() uint64
	Last() uint64
	// Durable is the last index up to which all is safe.
	Durable() uint64
	// Get answers an error that is entries.ErrNotFound for what the log does not have.
	Get(index uint64) (Entry, error)
	// Append adds entries behind the last one, or behind the place if the log is empty. It does not wait until they are safe.
	Append(ctx context.Context, entries []Entry) error
	// WaitDurable returns once all up to index is safe.
	WaitDurable(ctx context.Context, index uint64) error
	// Delete takes away the entries from first to last, which are the last ones there are. It is as durable as what
	// is appended afterwards.
	Delete(first, last uint64) error
	// Set keeps a value that Value gives; it is safe when Set returns.
	Set(key string, value []byte) error
	// Value is nil for what was never set.
	Value(key string) []byte
}

// Machine is the state that the group agrees on. All but Place and Checkpoint are called by one goroutine at a time.
type Machine interface {
	// Apply changes the state as the records of a committed entry say. If they were proposed here, local are the
	// proposals they were made from, in their order, and Apply answers each. An index that is in the state already is passed
	// over. After an error the group applies nothing any more, see Config.Failed.
	Apply(index, term uint64, records []byte, local []Proposal) error
	// Configuration notes the members of the group as of index, for Place.
	Configuration(index, term uint64, configuration []byte)
	// Applied is the last index that is in the state.
	Applied() uint64
	// Place is that of the last flush.
	Place() Place
	// Checkpoint describes the last flush for Install on another replica.
	Checkpoint() (*Checkpoint, error)
	// Install replaces the state by that of a checkpoint, whose files it fetches from the node that sent it. All of it is
	// safe when it returns, and Place is then that of the checkpoint. After an error the state is as before.
	Install(ctx context.Context, from string, place Place, metadata []byte) error
}

// Checkpoint is what a replica needs to know to fetch a flushed state.
type Checkpoint struct {
	Place    Place
	Metadata []byte
	// Release is called once nobody needs the files of the checkpoint any more; nil for nothing.
	Release func()
}

// Proposal is something that Machine.Apply may be asked for. It is answered once: by Apply, or by Fail.
type Proposal interface {
	// Bytes is how long its records are.
	Bytes() int
	// Append adds its records to dst.
	Append(dst []byte) []byte
	// Fail answers it with ErrNotLeader if it will never be applied, or with ErrLeadershipLost if nobody knows. It must
	// not block.
	Fail(err error)
}
