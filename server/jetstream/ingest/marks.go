package ingest

import (
	"bytes"

	"runnel/headers"
)

// The headers that matter before a message is in the log. All names begin with the prefix.
const (
	prefix      = "Nats-"
	requestInfo = "Nats-Request-Info"
)

// marks are what the headers of a message ask of this package; the rest is the stream's. Slices are parts of the
// header block. Of a header that occurs twice the first counts.
type marks struct {
	// any is set when there is a header that a stream may take notice of.
	any bool
	// requestInfo is set when the message brings what an import has added about its sender.
	requestInfo bool
}

// readMarks reads the headers of a message.
func readMarks(block []byte) marks {
	var m marks
	if len(block) == 0 || !bytes.Contains(block, []byte(prefix)) {
		return m
	}
	m.any = true
	for name := range headers.All(block) {
		rest, ok := bytes.CutPrefix(name, []byte(prefix))
		if !ok {
			continue
		}
		if string(rest) == requestInfo[len(prefix):] {
			m.requestInfo = true
		}
	}
	return m
}
