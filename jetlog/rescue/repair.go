package rescue

import (
	"errors"
	"fmt"
	"sync/atomic"

	"runnel/jetlog"
	"runnel/jetlog/config"
	"runnel/jetlog/gone"
	"runnel/jetlog/layer"
	"runnel/jetlog/manifest"
	"runnel/jetlog/messages"
	"runnel/jetlog/segment"
	"runnel/jetlog/store"
)

// ErrLogDamage is returned where the log has lost commands of the stream: nobody knows what they did, so a
// repair cannot go on behind them.
var ErrLogDamage = errors.New("the log has lost commands of the stream: export what is left, and import it into a new one")

// ErrReplica is returned for a stream that others have too: it gets its state from them.
var ErrReplica = errors.New("the stream is replicated: it is repaired by the other servers that have it")

// Repair gives up what is damaged of a stream, in a directory that nobody has open: what can be read of its
// damaged files is written into new ones, what is missing is counted as lost, and consumers do not wait for
// it. Then the stream opens again, with the commands that the log has besides. The damaged files are set
// aside. Nothing is changed of a stream that is sound, nor with an error.
func Repair(cfg store.Config, account, name string) (*Salvaged, error) {
	s, done, err := store.OpenForRepair(cfg)
	if err != nil {
		return nil, err
	}
	result, err := repairIn(s, account, name)
	done()
	return result, errors.Join(err, s.Close())
}

func repairIn(s *store.Store, account, name string) (*Salvaged, error) {
	t := s.Stream(account, name)
	if t == nil {
		return nil, fmt.Errorf("repair stream %q: %w", name, store.ErrNotFound)
	}
	r := &repair{}
	r.store, r.stream, r.inside = s, t.ID(), t.Inside()
	r.entry = r.inside.Row
	r.gone = gone.Of(r.entry.Floor, r.entry.Pages)
	if t.Replicated() {
		return nil, fmt.Errorf("repair stream %q: %w", name, ErrReplica)
	}
	if err := t.Err(); err != nil {
		r.result.Damage = append(r.result.Damage, err.Error())
		if d := (*store.StreamDamage)(nil); errors.As(err, &d) && d.Log {
			return &r.result, ErrLogDamage
		}
	}
	err := r.run()
	if err != nil {
		for _, f := range r.files {
			s.DropFile(f)
		}
		return nil, fmt.Errorf("repair stream %q: %w", name, err)
	}
	return &r.result, nil
}

// repair is one call of Repair. It works on the stream as of its last flush, as the manifest has it.
type repair struct {
	salvager
	entry *manifest.Stream
	state *jetlog.Stream
	files []*layer.File // new ones
	parts []manifest.Part
	// uncovered: a file is damaged that may have the facts of others. Those are written anew.
	uncovered bool
}

func (r *repair) run() error {
	var err error
	if r.state, err = jetlog.Restore(r.entry.Snapshot); err != nil {
		return err
	}
	changed := false
	damage := r.verify()
	for i, p := range r.entry.Parts {
		f := r.store.File(p.File)
		if damage[i] == nil && !(p.Covered && r.uncovered) {
			r.parts = append(r.parts, p)
			x, _ := f.Segment.Extent(r.stream)
			r.next = max(r.next, x.Last+1)
			continue
		}
		changed = true
		if damage[i] != nil {
			r.result.Damage = append(r.result.Damage, damage[i].Error())
		}
		if err := r.rewrite(f, p, r.entry.Parts[i+1:]); err != nil {
			return err
		}
	}
	if !changed {
		r.result.Messages = r.state.State().Messages
		return nil
	}
	return r.commit()
}

// verify returns what is wrong with each of the stream's files, nil for nothing.
func (r *repair) verify() (damage []error) {
	for _, p := range r.entry.Parts {
		f := r.store.File(p.File)
		err := f.Failure
		if err == nil {
			err = f.Segment.Verify()
		}
		damage = append(damage, err)
		// What such a file says of subjects, nobody else does: unless it has messages, they are in others.
		r.uncovered = r.uncovered || err != nil && !p.Covered
	}
	return damage
}

// rewrite puts what is left of a file into a new one.
func (r *repair) rewrite(f *layer.File, p manifest.Part, behind []manifest.Part) error {
	s := r.store
	left := map[segment.Hash]segment.Value{}
	ids, count := r.ids(f), 0
	compress := r.state.Config().Compression == config.S2Compression
	fresh, err := s.WriteFile(compress, func(w *segment.Writer) error {
		r.yield = func(m segment.Message) error {
			count++
			h := r.inside.Key.Sum(m.Subject)
			v, known := left[h]
			if !known {
				v[0] = m.Sequence
			}
			left[h] = segment.Value{v[0], m.Sequence, v[2] + 1}
			return w.Add(r.stream, m)
		}
		if err := r.file(f, behind, r.state.State().Last); err != nil {
			return err
		}
		if err := messages.WriteFacts(w, r.stream, layer.SubjectFact, left); err != nil {
			return err
		}
		return messages.WriteFacts(w, r.stream, layer.IDFact, ids)
	})
	if err != nil {
		return err
	}
	if len(ids) == 0 && count == 0 {
		s.DropFile(fresh)
		return nil
	}
	r.files = append(r.files, fresh)
	r.parts = append(r.parts, manifest.Part{File: fresh.Number, IDTime: p.IDTime})
	return nil
}

// ids are the message ids of a file, as far as they can be read: if not, a message may come twice.
func (r *repair) ids(f *layer.File) map[segment.Hash]segment.Value {
	ids := map[segment.Hash]segment.Value{}
	if f.Failure != nil {
		return ids
	}
	for x, err := range f.Segment.Facts(r.stream, layer.IDFact) {
		if err != nil {
			r.result.Damage = append(r.result.Damage, "message ids: "+err.Error())
			break
		}
		ids[x.Hash] = x.Value
	}
	return ids
}

// commit counts what is lost and lets the manifest have the new files.
//
// Facts say how many messages a subject had, and some of those are lost: as after a purge of all, none of
// them is believed, and a subject is counted when somebody asks.
func (r *repair) commit() error {
	s, e := r.store, r.entry
	b := messages.New(r.inside.Key, &atomic.Int64{}, factEntries)
	b.Gone, b.Start, b.Asker = r.gone, r.state.State().Last+1, layer.Direct
	b.Purged, b.Forgot = r.state.State().Last, e.Forgot
	known := map[uint64]*layer.File{}
	for _, f := range r.files {
		known[f.Number] = f
	}
	var parts []*layer.Part
	for i := range r.parts {
		f := known[r.parts[i].File]
		if f == nil {
			f = s.File(r.parts[i].File)
		}
		parts = append(parts, layer.NewPart(f, r.stream, &r.parts[i]))
	}
	b.SetParts(parts)
	var err error
	if r.result.LostMessages, r.result.LostBytes, err = r.state.Lose(b); err != nil {
		return err
	}
	r.result.Messages = r.state.State().Messages
	edit := manifest.StreamEdit{Advanced: true}
	edit.ID, edit.Snapshot, edit.Applied = e.ID, r.state.AppendSnapshot(nil), r.state.Applied()
	edit.Purged, edit.Forgot, edit.Floor, edit.Parts = b.Purged, e.Forgot, e.Floor, r.parts
	if err := s.Replace(edit, r.files); err != nil {
		return err
	}
	r.files = nil // they are in use
	return nil
}

// factEntries is how many known subjects are kept while what is lost is counted.
const factEntries = 4096
