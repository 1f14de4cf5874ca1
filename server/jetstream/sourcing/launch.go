package sourcing

import (
	"runnel/jetlog"
	"runnel/jetlog/command"
)

// admits asks whether there is room for a number of bytes, besides what is in flight. Without it the puller begins anew, after a pause.
func (p *puller) admits(bytes int) bool {
	admit := p.stream.hooks.Admit
	if admit == nil {
		return true
	}
	refusal := admit(p.run.flightBytes + bytes)
	if refusal == nil {
		return true
	}
	p.refuse(refusal)
	p.run.broken = true
	return false
}

// launch starts a command, whose outcome comes by the mailbox.
func (p *puller) launch(c command.Command, o *outcome) {
	r := &p.run
	r.flights++
	r.flightBytes += o.bytes
	r.started++
	err := p.stream.log.Start(p.stream.ctx, c, func(result jetlog.Result, err error) {
		o.result, o.err = result, err
		p.land(o)
	})
	if err != nil {
		o.err = err
		p.land(o)
	}
}

// land puts an outcome into the mailbox, also of a puller that is closed: what was stored is to be told.
func (p *puller) land(o *outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.box.outcomes = append(p.box.outcomes, o)
	p.wake()
}
