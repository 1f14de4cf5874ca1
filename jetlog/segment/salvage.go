package segment

import (
	"fmt"
	"iter"

	"runnel/jetlog/vfs"
)

// Salvaged is a message that Salvage has found.
type Salvaged struct {
	Stream uint64
	Message
}

// Salvage goes through a file that Open refuses, without footer and indexes, and yields the messages of every
// block that is whole: in the order of the file, valid until the next. It needs the header or the trailer, and the
// key if the file is sealed. What is damaged is left out; the sequences that are missing between, and those
// that follow, tell what may be lost. The error, if there is one, comes last.
func Salvage(fs vfs.FS, name string, keys []*Key) iter.Seq2[Salvaged, error] {
	return func(yield func(Salvaged, error) bool) {
		file, err := fs.Open(name)
		if err != nil {
			yield(Salvaged{}, fmt.Errorf("salvage segment: %w", err))
			return
		}
		defer file.Close()
		s := &Segment{name: name, file: file}
		if err := s.identify(keys); err != nil {
			yield(Salvaged{}, err)
			return
		}
		v := salvager{Segment: s, yield: yield}
		if err := v.run(); err != nil && !v.stopped {
			yield(Salvaged{}, err)
		}
	}
}

// identify learns what is needed to read chunks, from the header or else from the trailer.
func (s *Segment) identify(keys []*Key) error {
	var err error
	if s.bytes, err = s.file.Size(); err != nil {
		return fmt.Errorf("salvage segment %s: %w", s.name, err)
	}
	places := []location{{bytes: headerBytes}}
	if s.bytes >= trailerBytes {
		places = append(places, location{offset: uint64(s.bytes - trailerBytes), bytes: trailerBytes})
	}
	var first error
	for _, at := range places {
		b, err := s.readAt(at, concern{})
		if err == nil {
			if s.id, err = parseIdentity(b); err == nil {
				s.frame, err = s.id.frame(keys)
				return err
			}
			err = s.refuse(at.offset, err)
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// salvager goes through a file.
type salvager struct {
	*Segment
	yield   func(Salvaged, error) bool
	stopped bool // by the one who asked
}

// windowBytes is how much of the file is looked through at once for chunks.
const windowBytes = 64 << 10

func (v *salvager) run() error {
	for at := uint64(headerBytes); at+envelopeBytes <= uint64(v.bytes) && !v.stopped; {
		window := location{offset: at, bytes: uint32(min(windowBytes, uint64(v.bytes)-at))}
		b, err := v.readAt(window, concern{})
		if err != nil {
			return err
		}
		if at, err = v.window(b, at); err != nil {
			return err
		}
	}
	return nil
}

// window looks for blocks that begin in b, which lies at offset, and returns where to go on. Behind a block
// that is whole it goes on at its end; else at the next byte.
func (v *salvager) window(b []byte, offset uint64) (next uint64, err error) {
	i := 0
	for ; i+envelopeBytes <= len(b) && !v.stopped; i++ {
		if kind(b[i]) != kindHeads || b[i+1]&^(flagCompressed|flagSealed) != 0 || b[i+2] != 0 || b[i+3] != 0 {
			continue
		}
		end, err := v.block(b[i:], offset+uint64(i))
		if err != nil || end > offset {
			return end, err
		}
	}
	return offset + uint64(i), nil
}

// block yields the messages of the block at offset and returns its end; 0 if there is no block, or none
// that is whole.
func (v *salvager) block(envelope []byte, offset uint64) (end uint64, err error) {
	heads, at, err := v.chunk(envelope, offset, kindHeads)
	if err != nil || heads == nil {
		return 0, err
	}
	if at+envelopeBytes > uint64(v.bytes) {
		return 0, nil
	}
	if envelope, err = v.readAt(location{offset: at, bytes: envelopeBytes}, concern{}); err != nil {
		return 0, err
	}
	bodies, end, err := v.chunk(envelope, at, kindBodies)
	if err != nil || bodies == nil {
		return 0, err
	}
	b, err := parseBlock(heads)
	if err != nil {
		return 0, nil
	}
	w := walker{block: &b}
	for w.next() && !v.stopped {
		if m, err := w.message(string(w.name), bodies); err == nil {
			v.stopped = !v.yield(Salvaged{Stream: b.stream, Message: m}, nil)
		}
	}
	return end, nil
}

// chunk returns the content of the chunk that begins with this envelope, and its end; nil if it is not
// whole.
func (v *salvager) chunk(envelope []byte, offset uint64, k kind) (content []byte, end uint64, err error) {
	stored, raw := number(envelope[4:]), number(envelope[8:])
	bytes := uint64(stored) + envelopeBytes
	plausible := offset+bytes <= uint64(v.bytes)
	if envelope[1]&flagCompressed == 0 { // spares reading much wherever a payload looks like an envelope
		if v.frame.aead != nil {
			raw += v.frame.aead.Overhead()
		}
		plausible = plausible && raw == stored
	}
	if !plausible {
		return nil, 0, nil
	}
	chunk, err := v.readAt(location{offset: offset, bytes: uint32(bytes)}, concern{})
	if err != nil {
		return nil, 0, err
	}
	if content, err = v.frame.open(chunk, offset, k); err != nil {
		return nil, 0, nil
	}
	if content == nil {
		content = []byte{}
	}
	return content, offset + bytes, nil
}
