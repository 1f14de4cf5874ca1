package process

import (
	"context"
	"regexp"
	"strings"
)

// Faults finds what a log may not have.
func Faults(log string, expected ...*regexp.Regexp) ([]string, error) {
	return faults(strings.NewReader(log), expected)
}

// LastLines is the end of a text.
func LastLines(text string, lines int) string { return lastLines(text, lines) }

// FiguresOf reads a folder of /proc.
func FiguresOf(dir string) (Figures, error) { return figuresOf(dir) }

// Unready is what a server lacks that is to be linked with others.
func Unready(ctx context.Context, s *Server, others ...string) error { return s.unready(ctx, others) }

// AskToRemove asks a server once that another one be removed.
func AskToRemove(ctx context.Context, via *Server, name string) error {
	return removePeer(ctx, via, name)
}

// Try keeps a port if it is free.
func (p *Ports) Try(port int) bool { return p.take(port) }
