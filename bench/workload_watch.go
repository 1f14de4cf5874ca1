package bench

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// watch looks after the run until ctx ends: it draws the progress bar, follows
// the server's memory and gives the run up when nothing moves any more.
func (s *session) watch(ctx context.Context) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	bar := progressBar{out: s.target.Progress, name: s.name}
	defer bar.clear()
	moved, last := time.Now(), int64(-1)
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			done := s.opened.Load() + s.published.Load() + s.delivered()
			if done != last || s.patient.Load() {
				moved, last = now, done
			}
			if now.Sub(moved) >= s.target.Stall {
				s.fail(fmt.Errorf("%w: nothing moved for %v (%d sent, %d delivered)", ErrStalled, s.target.Stall, s.published.Load(), s.delivered()))
			}
			if s.target.PID != 0 {
				if usage, err := ReadUsage(s.target.PID); err == nil {
					s.notePeak(usage.RSSBytes)
				}
			}
			bar.draw(s.progress(now))
		}
	}
}

// progress says how far the run is: the part that is done (negative if the end
// is not known) and how much has been done so far.
func (s *session) progress(now time.Time) (part float64, count int64) {
	published, total := s.published.Load(), s.total.Load()
	delivered := s.delivered()
	count = max(published, delivered)
	switch {
	case total > 0 && s.fan > 0:
		// What lags behind is what the run waits for.
		return float64(delivered) / float64(total*int64(s.fan)), count
	case total > 0:
		return float64(published) / float64(total), count
	case s.params.Duration > 0:
		return float64(now.Sub(s.clock.base)) / float64(s.params.Duration), count
	default:
		return -1, count
	}
}

// progressBar draws on one line of a terminal. Without a writer it does nothing.
type progressBar struct {
	out   io.Writer
	name  string
	width int // of the line on the screen, which the next one must cover
}

// barWidth is how many characters the bar itself has.
const barWidth = 30

// draw replaces the line.
func (b *progressBar) draw(part float64, count int64) {
	if b.out == nil {
		return
	}
	line := fmt.Sprintf("%-16s %s", b.name, formatCount(float64(count)))
	if part >= 0 {
		part = min(part, 1)
		filled := int(part * barWidth)
		line = fmt.Sprintf("%-16s [%s%s] %3.0f%%  %s", b.name, strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), part*100, formatCount(float64(count)))
	}
	// A terminal that cannot be written to is no reason to end the run.
	_, _ = fmt.Fprintf(b.out, "\r%-*s", b.width, line)
	b.width = len(line)
}

// clear leaves an empty line for what comes next.
func (b *progressBar) clear() {
	if b.width > 0 {
		_, _ = fmt.Fprintf(b.out, "\r%*s\r", b.width, "")
	}
}
