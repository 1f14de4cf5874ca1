package segment

import "math"

// Message is one message of a stream.
type Message struct {
	Sequence uint64
	Time     int64  // unix time in nanoseconds
	Expires  int64  // unix time in nanoseconds; 0 means never
	Bytes    uint64 // what it counts for in the limits of its stream
	Subject  string // at most MaxSubjectBytes
	Header   []byte // nil means none
	Payload  []byte
}

// Meta is what is known of a message without its header and payload.
type Meta struct {
	Sequence     uint64
	Time         int64  // unix time in nanoseconds
	Expires      int64  // unix time in nanoseconds; 0 means never
	Bytes        uint64 // what it counts for in the limits of its stream
	Subject      string
	HeaderBytes  int
	PayloadBytes int
}

// Extent is what a file holds of one stream.
type Extent struct {
	Stream    uint64 // id of the stream
	First     uint64 // lowest sequence
	Last      uint64 // highest sequence
	FirstTime int64  // time of the message First
	LastTime  int64  // time of the message Last
	Count     uint64 // messages; less than Last-First+1 if sequences are missing between
	Bytes     uint64 // sum of the messages' Bytes
}

// Subject is what a file holds of one subject of a stream.
type Subject struct {
	Subject string
	First   uint64 // lowest sequence
	Last    uint64 // highest sequence
	Count   uint64 // messages
}

// FactKind tells the tables of a stream apart. What it means is the caller's.
type FactKind uint8

// Hash is the key of a fact: a keyed hash of what the fact is about. Good hashes make filters
// work well; answers are right with any.
type Hash [16]byte

// Value is what is known under a Hash: numbers whose meaning goes with the FactKind.
type Value [3]uint64

// Fact is one row of a fact table. A file's fact is about the whole stream as of the time of writing, and
// replaces what older files say under the same hash.
type Fact struct {
	Hash  Hash
	Value Value
}

// FactTable describes the facts of one kind that a file has about a stream.
type FactTable struct {
	Stream uint64
	Kind   FactKind
	Count  uint64
}

// Summary describes a file, for a manifest. Two files never have the same ID.
type Summary struct {
	ID       FileID
	Bytes    int64  // length of the file
	Checksum uint32 // of the footer, and so of everything that the footer says
	Extents  []Extent
	Facts    []FactTable
}

// Limits of what a file can hold. A Writer refuses more.
const (
	MaxSubjectBytes = 64 << 10
	MaxMessageBytes = 128 << 20 // header and payload together
	maxMessages     = math.MaxUint32 - 1
)
