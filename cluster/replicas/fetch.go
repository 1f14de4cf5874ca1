package replicas

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// fetchRequest asks for a file of a stream's checkpoint: the stream (8, little endian), the name of the file.
func fetchRequest(id uint64, file string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, id), file...)
}

// errRequest says that what another server has asked makes no sense.
var errRequest = errors.New("the request is too short")

// serveFetch opens a file for another replica. It can be read while the checkpoint that has it is being installed there.
func (h *Replicas) serveFetch(_ context.Context, _ string, request []byte, offset int64) (io.ReadCloser, error) {
	if len(request) < 8 {
		return nil, errRequest
	}
	id, name := binary.LittleEndian.Uint64(request), string(request[8:])
	t := h.cfg.Store.StreamByID(id)
	if t == nil {
		return nil, fmt.Errorf("file %s of stream %d: %w", name, id, ErrUnknown)
	}
	file, bytes, release, err := t.OpenFile(name)
	if err != nil {
		return nil, err
	}
	return &reading{io.NewSectionReader(file, offset, max(bytes-offset, 0)), release}, nil
}

// reading is a file that is being sent.
type reading struct {
	io.Reader
	release func()
}

// Close lets go of the file.
func (r *reading) Close() error {
	r.release()
	return nil
}

// serviceVerify is the call by which a replica that could not use a checkpoint asks for the files of its stream (8, little endian) to be verified:
// who gives files away does not read them.
const serviceVerify = "replicas.verify"

// doubt has another server verify its files. What it finds concerns nobody but its own replica.
func (r *replica) doubt(node string) {
	r.h.spawn(func() {
		ctx, cancel := context.WithTimeout(r.h.ctx, leaveTime)
		defer cancel()
		if _, err := r.h.cfg.Transport.Call(ctx, node, serviceVerify, binary.LittleEndian.AppendUint64(nil, r.id)); err != nil {
			r.h.logger.Warn("files that do not arrive as they should could not be verified where they are", "id", r.id, "node", node, "error", err)
		}
	})
}

// serveVerify begins to verify the files of a stream, unless that goes on already.
func (h *Replicas) serveVerify(_ context.Context, _ string, request []byte) ([]byte, error) {
	if len(request) != 8 {
		return nil, errRequest
	}
	r := h.replica(binary.LittleEndian.Uint64(request))
	if r == nil {
		return nil, ErrUnknown
	}
	t := r.agreed.Load()
	if t == nil || !r.verifying.CompareAndSwap(false, true) {
		return nil, nil
	}
	h.spawn(func() {
		defer r.verifying.Store(false)
		t.Scrub(r.h.ctx)
	})
	return nil, nil
}
