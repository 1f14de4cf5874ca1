package workload

import (
	"context"
	"fmt"
)

// logLoad is W1. Each value is published once, whatever comes of it, without an id.
type logLoad struct{ *load }

func openLog(l *load) part { return &logLoad{l} }

func (w *logLoad) setup(ctx context.Context) error {
	return w.create(ctx, w.stream(LogStream, "w1.>"))
}

func (w *logLoad) run(ctx context.Context) error {
	return w.work(ctx, w.cfg.Processes, writer(LogStream, keyed("w1")))
}

func (w *logLoad) finish(ctx context.Context) error {
	return w.finals(ctx, LogStream, subjectKey, true)
}

// keyed chooses among the subjects of a load.
func keyed(prefix string) func(*client) string {
	return func(c *client) string { return fmt.Sprintf("%s.%d", prefix, c.chance.IntN(c.load.cfg.Keys)) }
}
