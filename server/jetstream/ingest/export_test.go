package ingest

// ParseFastReply is parseFastReply for tests.
func ParseFastReply(reply string) (batch string, flow int, gapOK bool, sequence uint64, operation int, ok bool) {
	f, ok := parseFastReply(reply)
	return f.batch, f.flow, f.gapOK, f.sequence, int(f.operation), ok
}
