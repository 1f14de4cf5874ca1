package state

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// header is the first line of a snapshot. What follows are the members, the removed nodes and the streams, one JSON value a
// line, in the order of their keys.
type header struct {
	Version   int    `json:"version"`
	ClusterID string `json:"cluster_id"`
	Level     int    `json:"level"`
	Index     uint64 `json:"index"`
	NextID    uint64 `json:"next_id"`
	Members   int    `json:"members"`
	Removed   int    `json:"removed"`
	Streams   int    `json:"streams"`
}

// departed is a removed node in a snapshot.
type departed struct {
	Node string `json:"node"`
	Time int64  `json:"time"`
}

// snapshotVersion is that of the snapshots that this program writes, and the newest that it reads.
const snapshotVersion = 1

// Write writes the view down. Views that are equal are written the same.
func (v *View) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	err := e.Encode(&header{
		Version: snapshotVersion, ClusterID: v.clusterID, Level: v.level, Index: v.index, NextID: v.nextID,
		Members: v.members.len(), Removed: v.removed.len(), Streams: v.streams.len(),
	})
	for m := range v.Members() {
		err = errors.Join(err, e.Encode(m))
	}
	for node, time := range v.removed.from("") {
		err = errors.Join(err, e.Encode(&departed{node, time}))
	}
	for a := range v.All() {
		err = errors.Join(err, e.Encode(a))
	}
	if err = errors.Join(err, b.Flush()); err != nil {
		return fmt.Errorf("write the state of the cluster: %w", err)
	}
	return nil
}

// Restore replaces the state by one that was written down. After an error, which matches [ErrUnknown] unless reading has failed, the machine is as
// it was.
func (m *Machine) Restore(r io.Reader) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	var h header
	if err := d.Decode(&h); err != nil {
		return unreadable("header", err)
	}
	if h.Version != snapshotVersion {
		return fmt.Errorf("a state of the cluster in version %d, known is %d: %w", h.Version, snapshotVersion, ErrUnknown)
	}
	fresh := NewMachine()
	fresh.next = &View{clusterID: h.ClusterID, level: h.Level, index: h.Index, nextID: h.NextID}
	if err := fresh.read(d, &h); err != nil {
		return err
	}
	m.claims = fresh.claims
	m.view.Store(fresh.next)
	return nil
}

// read reads what follows the header.
func (m *Machine) read(d *json.Decoder, h *header) error {
	for range h.Members {
		var member Member
		if err := d.Decode(&member); err != nil {
			return unreadable("member", err)
		}
		m.next.members = m.next.members.set(member.Node, &member)
	}
	for range h.Removed {
		var gone departed
		if err := d.Decode(&gone); err != nil {
			return unreadable("removed server", err)
		}
		m.next.removed = m.next.removed.set(gone.Node, gone.Time)
	}
	for range h.Streams {
		var a Assignment
		if err := d.Decode(&a); err != nil {
			return unreadable("stream", err)
		}
		if len(a.Peers) == 0 || a.ID >= h.NextID || m.next.StreamByID(a.ID) != nil || m.next.Stream(a.Account, a.Config.Name) != nil {
			return unreadable("stream", fmt.Errorf("stream %d contradicts the others", a.ID))
		}
		m.put(nil, &a)
	}
	if _, err := d.Token(); err != io.EOF {
		return unreadable("end", errors.New("something follows it"))
	}
	return nil
}

// unreadable is the error of a part of a snapshot.
func unreadable(what string, err error) error {
	return fmt.Errorf("read the state of the cluster: %s: %w: %w", what, ErrUnknown, err)
}
