package reserve

import (
	"errors"
	"log/slog"
	"sync/atomic"

	"runnel/jetlog/vfs"
)

// SpaceConfig says what a Space watches. All of it is required.
type SpaceConfig struct {
	FS     vfs.FS
	Dir    string // on the device
	Logger *slog.Logger
	Memory *atomic.Int64 // bytes that are in memory and have to fit onto the device some time
	// SpareBytes is what has to be free besides; after a change of Memory by MeasureBytes free space is looked up again.
	SpareBytes, MeasureBytes int64
	Flush                    func() // lets Memory be written soon
	Moved                    func() // tells those who wait for room that there may be some
}

// Space is what is known of that on the device. The reserve is for what makes space, or has to be possible
// without. Others are refused as soon as some of it is given up, so that they do not use it. Its methods may be called
// concurrently.
type Space struct {
	cfg     SpaceConfig
	reserve *Reserve
	starved atomic.Bool // the last flush met a full disk
	spent   atomic.Bool // some of the reserve is given up, or cannot be had
	// tight: what is in memory might not fit onto the device. If others went on then, no flush would succeed any more,
	// and without one nothing that has gone makes room.
	tight    atomic.Bool
	measured atomic.Int64  // bytes in memory when that was found out
	changed  chan struct{} // wakes Run
}

// NewSpace returns a Space with a reserve.
func NewSpace(cfg SpaceConfig, r *Reserve) *Space {
	return &Space{cfg: cfg, reserve: r, changed: make(chan struct{}, 1)}
}

// Full reports whether what takes space, and makes none, is to be refused.
func (p *Space) Full() bool { return p.starved.Load() || p.spent.Load() || p.tight.Load() }

// Pressed reports whether a flush should follow.
func (p *Space) Pressed() bool { return p.starved.Load() || p.tight.Load() }

// Flushed notes whether the last flush met a full disk.
func (p *Space) Flushed(full bool) {
	p.starved.Store(full)
	p.Measure()
}

// MeasureIfDue has free space looked up if much has changed since it was done last. The caller does not wait for it, unless
// as much again has come before it was done: more than there is to spare must not come unseen.
func (p *Space) MeasureIfDue() {
	switch more := p.cfg.Memory.Load() - p.measured.Load(); {
	case more >= 2*p.cfg.MeasureBytes:
		p.Measure()
	case more >= p.cfg.MeasureBytes || more <= -p.cfg.MeasureBytes:
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
}

// Run looks up free space when it is due, until stop is closed.
func (p *Space) Run(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-p.changed:
			p.Measure()
		}
	}
}

// Measure looks whether what is in memory fits onto the device.
func (p *Space) Measure() {
	memory := p.cfg.Memory.Load()
	p.measured.Store(memory)
	free, err := p.cfg.FS.FreeBytes(p.cfg.Dir)
	if err != nil {
		return // whoever writes will see
	}
	want := memory + p.cfg.SpareBytes
	tight := free < want
	if p.tight.Swap(tight) == tight {
		return
	}
	if tight {
		p.cfg.Logger.Error("the disk is nearly full: publishes are refused until there is room", "free", free, "wanted", want)
		p.cfg.Flush()
	} else {
		p.cfg.Logger.Info("the disk has room again", "free", free)
		p.cfg.Moved()
	}
}

// Fill takes what is missing of the reserve. Others are let in when all of it is there.
func (p *Space) Fill() {
	err := p.reserve.Fill()
	short := errors.Is(err, ErrShort)
	if before := p.spent.Swap(short); before != short || err != nil && !short {
		p.cfg.Logger.Warn("reserve for a full disk", "short", short, "error", err)
	}
	if err == nil {
		p.cfg.Moved()
	}
}

// Spend gives up some of the reserve, since the disk is full; it is false if there is none.
func (p *Space) Spend() bool {
	if !p.reserve.Spend() {
		return false
	}
	if !p.spent.Swap(true) {
		p.cfg.Logger.Error("the disk is full: publishes are refused, and the reserve is used")
	}
	return true
}
