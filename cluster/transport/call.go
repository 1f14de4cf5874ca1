package transport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"runnel/cluster/mesh"
)

const (
	// serviceBytes is Service.MaxBytes if that is zero.
	serviceBytes = 1 << 20
	// serviceName bounds the name of a service.
	serviceName = nameBytes
)

// Handler answers a call. ctx ends when the caller has given up, when the link to it breaks and when the transport is
// closed, which waits for the handler. The payload belongs to it. An error is told to the caller by its text.
type Handler func(ctx context.Context, from string, payload []byte) ([]byte, error)

// Service is a kind of calls.
type Service struct {
	Handle Handler
	// MaxBytes bounds the request and the answer; 1 MiB if zero, and never more than 64 MiB.
	MaxBytes int
}

// Handle has calls of a service answered by h, in goroutines of their own. Use Serve for other limits than the usual.
func (t *Transport) Handle(service string, h Handler) { t.Serve(service, Service{Handle: h}) }

// Serve is Handle with limits, which hold for the calls of this service that are made here too.
func (t *Transport) Serve(service string, s Service) {
	if s.MaxBytes == 0 {
		s.MaxBytes = serviceBytes
	}
	s.MaxBytes = min(s.MaxBytes, entryBytes)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.services[service] = s
}

// service is the one of the name; Handle is nil if it is not served here.
func (t *Transport) service(name string) Service {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if s, ok := t.services[name]; ok {
		return s
	}
	return Service{MaxBytes: serviceBytes}
}

// result is what a call has come to.
type result struct {
	payload []byte
	err     error
}

// calling waits for the answer to a call.
type calling struct {
	limit int
	done  chan result
}

func (c *calling) answered(body []byte, err error) {
	if err == nil && len(body) > c.limit {
		err = fmt.Errorf("an answer of %d bytes: %w (more than %d)", len(body), ErrTooLarge, c.limit)
	}
	c.done <- result{payload: own(body), err: err}
}

// Call has node answer a request, or fails with ErrUnreachable, ErrBusy, ErrNoService, ErrTooLarge, a *RemoteError or the
// error of ctx. Without a deadline it waits for as long as there is a link. A call to this server itself is answered too.
func (t *Transport) Call(ctx context.Context, node, service string, payload []byte) ([]byte, error) {
	s := t.service(service)
	if len(payload) > s.MaxBytes || len(service) > serviceName {
		return nil, fmt.Errorf("call %q of peer %s with %d bytes: %w (more than %d)", service, node, len(payload), ErrTooLarge, s.MaxBytes)
	}
	if node == t.cfg.Node {
		return t.callSelf(ctx, service, s, payload)
	}
	l := t.lane(node, mesh.RaftData)
	if l == nil {
		return nil, fmt.Errorf("call %q: %w", service, about(node, ErrUnreachable))
	}
	answer, err := l.call(ctx, service, s.MaxBytes, payload)
	if err != nil {
		return nil, fmt.Errorf("call %q: %w", service, err)
	}
	return answer, nil
}

func (t *Transport) callSelf(ctx context.Context, service string, s Service, payload []byte) ([]byte, error) {
	if s.Handle == nil {
		return nil, fmt.Errorf("call %q: %w", service, about(t.cfg.Node, ErrNoService))
	}
	answer, err := s.Handle(ctx, t.cfg.Node, append([]byte(nil), payload...))
	if err != nil {
		return nil, fmt.Errorf("call %q: %w", service, errorOf(t.cfg.Node, codeError, []byte(err.Error())))
	}
	return answer, nil
}

// call makes a call over the link.
func (l *lane) call(ctx context.Context, service string, limit int, payload []byte) ([]byte, error) {
	bytes := headBytes + 8 + 4 + 1 + len(service) + len(payload)
	if !l.bulk.take(bytes, l.done, ctx.Done()) {
		return nil, l.stopped(ctx)
	}
	c := &calling{limit: limit, done: make(chan result, 1)}
	id, err := l.ask(request{waiter: c})
	if err != nil {
		l.bulk.put(bytes)
		return nil, err
	}
	f := l.t.newFrame(bytes)
	f.fill(kindCall, bytes, nil, func(b []byte) []byte {
		b = putUint64s(b, id, uint64(remaining(ctx)))
		return append(putName(b, service), payload...)
	})
	l.out.add(f, false)
	select {
	case r := <-c.done:
		return r.payload, r.err
	case <-ctx.Done():
		if l.forget(id) {
			l.control(kindCancel, false, func(b []byte) []byte { return putUint64s(b, id) })
		}
		return nil, about(l.peer.node, ctx.Err())
	}
}

// own is what a frame has brought, in memory that the next frame does not overwrite.
func own(b []byte) []byte {
	if len(b) > scratchBytes {
		return b
	}
	return append([]byte(nil), b...)
}

// stopped says why somebody does not wait any more.
func (l *lane) stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return about(l.peer.node, ctx.Err())
	}
	return about(l.peer.node, ErrUnreachable)
}

// remaining is the time until the deadline of ctx, 0 if there is none.
func remaining(ctx context.Context) time.Duration {
	if at, ok := ctx.Deadline(); ok {
		return max(1, time.Until(at))
	}
	return 0
}

// handleCall has a call answered.
func (l *lane) handleCall(body []byte) error {
	c := cursor{b: body}
	id, left, name := c.uint64(), time.Duration(c.uint64()), c.name()
	payload := c.rest()
	if err := c.end(); err != nil {
		return fmt.Errorf("read a call: %w", err)
	}
	s := l.t.service(name)
	switch {
	case s.Handle == nil:
		l.answer(id, false, nil, ErrNoService)
	case len(payload) > s.MaxBytes:
		l.answer(id, false, nil, ErrTooLarge)
	case int(l.peer.calls.Add(1)) > l.t.cfg.Calls:
		l.peer.calls.Add(-1)
		l.peer.count.refused.Add(1)
		l.answer(id, false, nil, ErrBusy)
	default:
		payload = own(payload)
		ctx, cancel := l.serve(id, left)
		if !l.t.spawn(func() { l.serveCall(ctx, cancel, id, s, payload) }) {
			cancel()
		}
	}
	return nil
}

func (l *lane) serveCall(ctx context.Context, cancel context.CancelFunc, id uint64, s Service, payload []byte) {
	defer l.peer.calls.Add(-1)
	defer cancel()
	answer, err := s.Handle(ctx, l.peer.node, payload)
	if ctx.Err() != nil {
		return // nobody waits any more
	}
	if err == nil && len(answer) > s.MaxBytes {
		err = ErrTooLarge
	}
	if err != nil {
		l.answer(id, false, nil, plain(err))
		return
	}
	bytes := headBytes + 9 + len(answer)
	if !l.bulk.take(bytes, l.done, nil) {
		return
	}
	f := l.t.newFrame(bytes)
	f.fill(kindAnswer, bytes, answer, func(b []byte) []byte { return append(putUint64s(b, id), byte(codeOK)) })
	l.out.add(f, false)
}

// plain is the error of a handler, which is told by its text even if it comes from another transport's call.
func plain(err error) error {
	if errors.Is(err, ErrTooLarge) {
		return ErrTooLarge
	}
	return errors.New(err.Error())
}

// serve is the context of what is served to the peer, until cancel.
func (l *lane) serve(id uint64, left time.Duration) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(context.Background())
	if left > 0 {
		ctx, stop = context.WithTimeout(context.Background(), left)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		stop()
		return ctx, stop
	}
	if old := l.serving[id]; old != nil { // the peer has confused its ids
		old()
	}
	l.serving[id] = stop
	return ctx, func() {
		stop()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.serving, id)
	}
}

// cancel ends what is served under the id.
func (l *lane) cancel(id uint64) {
	l.mu.Lock()
	stop := l.serving[id]
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
}
