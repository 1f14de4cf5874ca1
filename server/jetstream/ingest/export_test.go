package ingest

// ParseFastReply is parseFastReply for tests.
func ParseFastReply(reply string) (batch string, flow int, gapOK bool, sequence uint64, operation int, ok bool) {
	f, ok := parseFastReply(reply)
	return f.batch, f.flow, f.gapOK, f.sequence, int(f.operation), ok
}

// Late is how many publishers wait to be told that nobody has their messages.
func (g *Ingest) Late() int {
	g.late.mu.Lock()
	defer g.late.mu.Unlock()
	return len(g.late.waiting)
}
