package config

import "fmt"

// Retention says what makes a stream let go of a message.
type Retention uint8

// Limits keeps messages until a limit removes them, Interest until every consumer that wants them
// has acknowledged them, WorkQueue until the first acknowledgement.
const (
	LimitsRetention Retention = iota
	InterestRetention
	WorkQueueRetention
)

// Discard says who gives way when a stream is full: the oldest message or the new one.
type Discard uint8

// The two ways to keep a limit.
const (
	DiscardOld Discard = iota
	DiscardNew
)

// Storage says where the messages of a stream are.
type Storage uint8

// The places of messages.
const (
	FileStorage Storage = iota
	MemoryStorage
)

// Compression of messages in files.
type Compression uint8

// The kinds of compression.
const (
	NoCompression Compression = iota
	S2Compression
)

// Persist says whether a publisher is answered before its message is safe.
type Persist uint8

// The persist modes.
const (
	PersistDefault Persist = iota
	PersistAsync
)

// Deliver says where a consumer begins.
type Deliver uint8

// The deliver policies.
const (
	DeliverAll Deliver = iota
	DeliverLast
	DeliverNew
	DeliverByStartSequence
	DeliverByStartTime
	DeliverLastPerSubject
)

// Ack says what an acknowledgement covers.
type Ack uint8

// AckNone needs none, AckAll covers all earlier messages too, AckExplicit the one message, and
// AckFlowControl is AckAll by the answers to flow control.
const (
	AckNone Ack = iota
	AckAll
	AckExplicit
	AckFlowControl
)

// Replay says how fast a consumer gets what is stored.
type Replay uint8

// The replay policies.
const (
	ReplayInstant Replay = iota
	ReplayOriginal
)

// Priority says which waiting request of a priority group is served.
type Priority uint8

// The priority policies.
const (
	PriorityNone Priority = iota
	PriorityOverflow
	PriorityPinned
	PriorityPrioritized
)

// names of the policies' values, by value, as they stand in JSON.
const (
	retentionNames   = "limits interest workqueue"
	discardNames     = "old new"
	storageNames     = "file memory"
	compressionNames = "none s2"
	persistNames     = "default async"
	deliverNames     = "all last new by_start_sequence by_start_time last_per_subject"
	ackNames         = "none all explicit flow_control"
	replayNames      = "instant original"
	priorityNames    = "none overflow pinned_client prioritized"
)

// MarshalText returns the name of the value, or an error for a value that has none.
func (r Retention) MarshalText() ([]byte, error) { return nameOf("retention", retentionNames, r) }

// UnmarshalText sets the value by its name.
func (r *Retention) UnmarshalText(b []byte) error { return valueOf("retention", retentionNames, b, r) }

// MarshalText returns the name of the value, or an error for a value that has none.
func (d Discard) MarshalText() ([]byte, error) { return nameOf("discard policy", discardNames, d) }

// UnmarshalText sets the value by its name.
func (d *Discard) UnmarshalText(b []byte) error {
	return valueOf("discard policy", discardNames, b, d)
}

// MarshalText returns the name of the value, or an error for a value that has none.
func (s Storage) MarshalText() ([]byte, error) { return nameOf("storage type", storageNames, s) }

// UnmarshalText sets the value by its name.
func (s *Storage) UnmarshalText(b []byte) error { return valueOf("storage type", storageNames, b, s) }

// MarshalText returns the name of the value, or an error for a value that has none.
func (c Compression) MarshalText() ([]byte, error) {
	return nameOf("compression", compressionNames, c)
}

// UnmarshalText sets the value by its name.
func (c *Compression) UnmarshalText(b []byte) error {
	return valueOf("compression", compressionNames, b, c)
}

// MarshalText returns the name of the value, or an error for a value that has none.
func (p Persist) MarshalText() ([]byte, error) { return nameOf("persist mode", persistNames, p) }

// UnmarshalText sets the value by its name.
func (p *Persist) UnmarshalText(b []byte) error { return valueOf("persist mode", persistNames, b, p) }

// MarshalText returns the name of the value, or an error for a value that has none.
func (d Deliver) MarshalText() ([]byte, error) { return nameOf("deliver policy", deliverNames, d) }

// UnmarshalText sets the value by its name. The empty name stands for `all`, and `undefined` too.
func (d *Deliver) UnmarshalText(b []byte) error {
	if len(b) == 0 || string(b) == "undefined" {
		*d = DeliverAll
		return nil
	}
	return valueOf("deliver policy", deliverNames, b, d)
}

// MarshalText returns the name of the value, or an error for a value that has none.
func (a Ack) MarshalText() ([]byte, error) { return nameOf("ack policy", ackNames, a) }

// UnmarshalText sets the value by its name.
func (a *Ack) UnmarshalText(b []byte) error { return valueOf("ack policy", ackNames, b, a) }

// MarshalText returns the name of the value, or an error for a value that has none.
func (r Replay) MarshalText() ([]byte, error) { return nameOf("replay policy", replayNames, r) }

// UnmarshalText sets the value by its name.
func (r *Replay) UnmarshalText(b []byte) error { return valueOf("replay policy", replayNames, b, r) }

// MarshalText returns the name of the value, or an error for a value that has none.
func (p Priority) MarshalText() ([]byte, error) { return nameOf("priority policy", priorityNames, p) }

// UnmarshalText sets the value by its name.
func (p *Priority) UnmarshalText(b []byte) error {
	return valueOf("priority policy", priorityNames, b, p)
}

// nameOf returns the v-th of the names.
func nameOf[T ~uint8](what, names string, v T) ([]byte, error) {
	left := int(v)
	for name := range fields(names) {
		if left == 0 {
			return []byte(name), nil
		}
		left--
	}
	return nil, fmt.Errorf("there is no %s %d", what, v)
}

// valueOf sets v to the position of the name among the names.
func valueOf[T ~uint8](what, names string, b []byte, v *T) error {
	var n T
	for name := range fields(names) {
		if name == string(b) {
			*v = n
			return nil
		}
		n++
	}
	return fmt.Errorf("there is no %s %q", what, b)
}
