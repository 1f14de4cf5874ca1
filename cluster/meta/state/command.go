package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"runnel/jetlog/config"
)

// encoding is the version of commands that this program writes, and the newest that it reads.
const encoding = 1

// MaxCommandBytes bounds an encoded command.
const MaxCommandBytes = 4 << 20

// Command is something that somebody wants changed. It is one of the types below.
type Command interface {
	// kind is the number of the command in its encoding. Numbers are not used again.
	kind() byte
	// apply decides, and changes the machine if nothing is against it.
	apply(m *Machine) Result
}

// Found gives a new cluster its id and its first members. It is the first command; a second is without effect.
type Found struct {
	ClusterID string   `json:"cluster_id"`
	Members   []Member `json:"members"`
	Level     int      `json:"level"`
	Time      int64    `json:"time"`
}

// Admit takes a server in, or changes what it says of itself. If another node has its name, Member.Replaces has to name that node,
// which is removed: the leader has made sure that it is gone.
type Admit struct {
	Member Member `json:"member"`
	Time   int64  `json:"time"`
}

// RemoveMember takes a server out for good. Its streams remain assigned to it until the leader has found others.
type RemoveMember struct {
	Node string `json:"node"`
	Time int64  `json:"time"`
}

// Evacuate lets all streams move away from a server, or ends that.
type Evacuate struct {
	Node   string `json:"node"`
	Cancel bool   `json:"cancel,omitempty"`
}

// Raise raises the feature level. It is refused if a member does not know it.
type Raise struct {
	Level int `json:"level"`
}

// Limits are what an account may have in the whole cluster, as the server that asks knows them. -1 is no limit.
type Limits struct {
	MaxStreams     int   `json:"max_streams"`
	MaxStoreBytes  int64 `json:"max_store"`
	MaxMemoryBytes int64 `json:"max_memory"`
	// Tiered says that they are those of the stream's number of replicas: streams and bytes of that number count,
	// each stream once. Otherwise all streams of the account count, each as often as it has replicas.
	Tiered bool `json:"tiered,omitempty"`
}

// CreateStream makes a stream, or finds that there is one just like it.
type CreateStream struct {
	Account string `json:"account"`
	// Config is complete and valid.
	Config config.Stream `json:"config"`
	// Created is the time, in nanoseconds since 1970. The leader fills it in if it is 0.
	Created int64 `json:"created"`
	// Limits are nil for an account without.
	Limits *Limits `json:"limits,omitempty"`
	// Peers is where it shall be, who should lead in front. The leader fills it in if it is empty.
	Peers []string `json:"peers,omitempty"`
	// New says that the stream must not exist, not even with the same configuration.
	New bool `json:"new,omitempty"`
}

// UpdateStream gives a stream another configuration. If it asks for another number of replicas or another place, it begins a change.
type UpdateStream struct {
	Account string        `json:"account"`
	Config  config.Stream `json:"config"`
	Limits  *Limits       `json:"limits,omitempty"`
	// Version is that of the assignment that Peers was chosen for, and Peers is where it shall be. The leader fills them in; they
	// count only if replicas or placement change.
	Version uint64   `json:"version,omitempty"`
	Peers   []string `json:"peers,omitempty"`
	Time    int64    `json:"time,omitempty"`
}

// DeleteStream removes a stream.
type DeleteStream struct {
	Account string `json:"account"`
	Name    string `json:"name"`
	// ID has to be that of the stream unless it is 0.
	ID uint64 `json:"id,omitempty"`
}

// MoveStream lets a stream move to other servers without a change of its configuration.
type MoveStream struct {
	Account string `json:"account"`
	Name    string `json:"name"`
	// Version is that of the assignment that Peers was chosen for. The leader fills it in.
	Version uint64 `json:"version,omitempty"`
	// From is a server that it shall leave, empty for none in particular.
	From string `json:"from,omitempty"`
	// Drop says that From is not to be waited for: it keeps its replica no longer.
	Drop bool `json:"drop,omitempty"`
	// To are placement's wishes for this move only.
	To *config.Placement `json:"to,omitempty"`
	// Peers is where it shall be. The leader fills it in.
	Peers []string `json:"peers,omitempty"`
	Time  int64    `json:"time,omitempty"`
	// Upkeep says that it is the leader who wants it: a change that is under way takes another direction then.
	Upkeep bool `json:"upkeep,omitempty"`
}

// Settle ends a change: the stream's replicas are where they should be. It is proposed by the stream's leader.
type Settle struct {
	ID uint64 `json:"id"`
	// Version is that of the assignment which has been carried out.
	Version uint64 `json:"version"`
}

// CancelChange turns a change around: configuration and servers become what they were.
type CancelChange struct {
	Account string `json:"account"`
	Name    string `json:"name"`
	Time    int64  `json:"time,omitempty"`
}

// The numbers of the commands.
const (
	kindFound = iota + 1
	kindAdmit
	kindRemoveMember
	kindEvacuate
	kindRaise
	kindCreateStream
	kindUpdateStream
	kindDeleteStream
	kindMoveStream
	kindSettle
	kindCancelChange
)

func (*Found) kind() byte        { return kindFound }
func (*Admit) kind() byte        { return kindAdmit }
func (*RemoveMember) kind() byte { return kindRemoveMember }
func (*Evacuate) kind() byte     { return kindEvacuate }
func (*Raise) kind() byte        { return kindRaise }
func (*CreateStream) kind() byte { return kindCreateStream }
func (*UpdateStream) kind() byte { return kindUpdateStream }
func (*DeleteStream) kind() byte { return kindDeleteStream }
func (*MoveStream) kind() byte   { return kindMoveStream }
func (*Settle) kind() byte       { return kindSettle }
func (*CancelChange) kind() byte { return kindCancelChange }

// blank returns an empty command of a kind, nil if the kind is not known.
func blank(kind byte) Command {
	switch kind {
	case kindFound:
		return &Found{}
	case kindAdmit:
		return &Admit{}
	case kindRemoveMember:
		return &RemoveMember{}
	case kindEvacuate:
		return &Evacuate{}
	case kindRaise:
		return &Raise{}
	case kindCreateStream:
		return &CreateStream{}
	case kindUpdateStream:
		return &UpdateStream{}
	case kindDeleteStream:
		return &DeleteStream{}
	case kindMoveStream:
		return &MoveStream{}
	case kindSettle:
		return &Settle{}
	case kindCancelChange:
		return &CancelChange{}
	}
	return nil
}

// Encode writes a command down.
func Encode(c Command) ([]byte, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode command %d: %w", c.kind(), err)
	}
	if len(body)+2 > MaxCommandBytes {
		return nil, fmt.Errorf("encode command %d: %d bytes are more than %d", c.kind(), len(body), MaxCommandBytes)
	}
	return append([]byte{encoding, c.kind()}, body...), nil
}

// Decode reads a command. Its error matches [ErrUnknown].
func Decode(b []byte) (Command, error) {
	if len(b) < 2 {
		return nil, fmt.Errorf("a command of %d bytes: %w", len(b), ErrUnknown)
	}
	if len(b) > MaxCommandBytes {
		return nil, fmt.Errorf("a command of %d bytes, more than %d: %w", len(b), MaxCommandBytes, ErrUnknown)
	}
	if b[0] != encoding {
		return nil, fmt.Errorf("a command in encoding %d, known is %d: %w", b[0], encoding, ErrUnknown)
	}
	c := blank(b[1])
	if c == nil {
		return nil, fmt.Errorf("a command of kind %d: %w", b[1], ErrUnknown)
	}
	if err := decodeStrict(b[2:], c); err != nil {
		return nil, fmt.Errorf("a command of kind %d: %w: %w", b[1], ErrUnknown, err)
	}
	return c, nil
}

// decodeStrict reads one JSON value and wants nothing in it or behind it that is not known.
func decodeStrict(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("something follows the value")
	}
	return nil
}
