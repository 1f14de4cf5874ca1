package entries

import (
	"errors"
	"fmt"

	"runnel/jetlog/codec"
	"runnel/jetlog/wal"
)

// Errors of a Log. They are wrapped; compare with errors.Is.
var (
	// ErrNotFound: the log does not have the entry, or not any more.
	ErrNotFound = errors.New("entry not found")
	// ErrOrder: entries do not follow one another, or not the last of the log.
	ErrOrder = errors.New("entries are out of order")
	// ErrDamaged: the log has lost something that was safe. The member must not go on: it may have voted for, or
	// confirmed, what it does not know any more.
	ErrDamaged = errors.New("the log of a group has lost records")
	// ErrClosed: the log is not in use any more.
	ErrClosed = errors.New("the log of a group is closed")
)

// Entry is one entry of a raft log. What its slices refer to is kept, and must not change.
type Entry struct {
	Index, Term uint64
	Type        uint8 // of raft's own; less than 16
	Data        []byte
	Extensions  []byte
}

// entryTypes is how many types of entries there can be.
const entryTypes = 16

// Place is how far a state is: everything up to an index is in it. The configuration is that of the group as of there;
// its bytes are raft's matter. The zero Place is that of a member without a state.
type Place struct {
	Index, Term   uint64
	Configuration []byte
}

// The kinds of records.
const (
	kindEntry    = 0x10 // and the type
	kindExtended = 0x20 // and the type
	kindCut      = 0x30
	kindValues   = 0x31
)

// Owns reports whether records of a kind are those of this package.
func Owns(kind uint8) bool { return kind >= kindEntry }

// valuesIndex is the index of records with values, so that damage of one is never taken for that of an old entry.
const valuesIndex = ^uint64(0)

// record returns the record for an entry. The payload may be that of the entry.
func (e *Entry) record(group uint64) wal.Record {
	r := wal.Record{Group: group, Index: e.Index, Term: e.Term, Kind: kindEntry | e.Type, Payload: e.Data}
	if len(e.Extensions) > 0 {
		r.Kind = kindExtended | e.Type
		r.Payload = append(codec.AppendBytes(make([]byte, 0, len(e.Extensions)+len(e.Data)+10), e.Extensions), e.Data...)
	}
	return r
}

// decodeEntry returns the entry of a record, which refers to its payload.
func decodeEntry(r *wal.Record) (Entry, error) {
	e := Entry{Index: r.Index, Term: r.Term, Type: r.Kind % entryTypes, Data: r.Payload}
	if r.Kind-e.Type == kindEntry {
		return e, nil
	}
	b := codec.NewReader(r.Payload)
	e.Extensions = b.Bytes()
	if err := b.Err(); err != nil {
		return Entry{}, fmt.Errorf("entry %d of group %d: %w", r.Index, r.Group, err)
	}
	e.Data = r.Payload[len(r.Payload)-b.Rest():]
	return e, nil
}

// value is something that a group must not forget.
type value struct {
	key  string
	data []byte
}

// appendValues codes all values.
func appendValues(out []byte, values []value) []byte {
	out = codec.AppendUint(out, uint64(len(values)))
	for i := range values {
		out = codec.AppendBytes(codec.AppendBytes(out, values[i].key), values[i].data)
	}
	return out
}

// decodeValues returns the values of a record.
func decodeValues(payload []byte) ([]value, error) {
	r := codec.NewReader(payload)
	var values []value
	for range r.Count(2) {
		key := r.String()
		values = append(values, value{key: key, data: append([]byte(nil), r.Bytes()...)})
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	return values, nil
}
