package accounts

import (
	"cmp"
	"time"

	"runnel/subjects"
)

// passage is an import that is in force: a way of messages from one account to another. It is
// immutable.
type passage struct {
	link
	toLocal, toRemote *subjects.Transform
	// One of these is what the engine sees of it.
	stream  *StreamImport
	service *ServiceImport
}

// link is all that tells passages apart, so that it can be compared.
type link struct {
	kind               kind
	exporter, importer *Account
	// remote, local and back are those of the route.
	remote, local, back string
	share, allowTrace   bool
	response            ResponseType
	threshold           time.Duration
	latency             LatencyConfig // none without a subject
}

// kind tells services from streams.
type kind bool

const (
	streamKind  kind = false
	serviceKind kind = true
)

func (k kind) String() string {
	if k == serviceKind {
		return "service"
	}
	return "stream"
}

// newPassage returns the passage of an import w of an account that e allows.
func newPassage(exporter, importer *Account, e *export, w *wanted) *passage {
	p := &passage{toLocal: w.toLocal, toRemote: w.toRemote, link: link{
		kind: kind(w.Service), exporter: exporter, importer: importer,
		remote: w.remote, local: w.local, back: w.back,
	}}
	if p.kind == streamKind {
		p.allowTrace = w.AllowTrace
		p.stream = &StreamImport{Account: importer, Exporter: exporter, AllowTrace: w.AllowTrace, passage: p}
		return p
	}
	p.share, p.allowTrace, p.response = w.Share, e.AllowTrace, e.Response
	p.threshold = cmp.Or(e.Threshold, DefaultThreshold)
	if e.Latency != nil {
		p.latency = *e.Latency
	}
	p.service = &ServiceImport{
		Account: exporter, Importer: importer, Share: p.share, Response: p.response,
		Threshold: p.threshold, Latency: e.Latency, AllowTrace: p.allowTrace, passage: p,
	}
	return p
}

// ends returns where messages on the passage come from and where they go.
func (p *passage) ends() (from *Account, leaves string, to *Account, arrives string) {
	if p.kind == serviceKind {
		return p.importer, p.local, p.exporter, p.remote
	}
	return p.exporter, p.remote, p.importer, p.local
}
