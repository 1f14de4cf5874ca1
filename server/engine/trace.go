package engine

import (
	"context"
	"log/slog"
	"strconv"

	"runnel/server/logs"
	"runnel/server/wire"
)

// traceIn logs what a client sent.
func (w *worker) traceIn(c *Conn, f *wire.Frame) {
	w.trace(c, "<<- ["+f.Line()+"]")
	if f.Verb == wire.VerbPub || f.Verb == wire.VerbHPub {
		w.trace(c, "<<- MSG_PAYLOAD: "+w.logged(f))
	}
}

// traceOut logs a delivery.
func (w *worker) traceOut(t *target, subject []byte, bodyBytes int) {
	w.trace(t.conn, "->> [MSG "+string(subject)+" "+t.sub.SID+" "+strconv.Itoa(bodyBytes)+"]")
}

func (w *worker) trace(c *Conn, text string) {
	w.engine.logger.Log(context.Background(), logs.LevelTrace, text, slog.Uint64("cid", c.ID()))
}

// logged is the part of a message that is shown: cut to the configured length, or its headers only.
func (w *worker) logged(f *wire.Frame) string {
	s := w.engine.settings.Load()
	body := f.Body()
	if s.TraceHeaders && f.HeaderBytes > 0 {
		body = f.Header()
	}
	if most := s.MaxTracedBytes; most > 0 && len(body) > most {
		return strconv.Quote(string(body[:most])) + "..."
	}
	return strconv.Quote(string(body))
}
