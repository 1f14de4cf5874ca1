package replicas_test

import (
	"context"
	"testing"

	"runnel/jetlog"
	"runnel/jetlog/command"
)

// BenchmarkPublish has three servers, in one process and with disks in memory, keep small messages, 256 at a time. Its costs are those of all
// three.
func BenchmarkPublish(b *testing.B) {
	w := newWorldOf(b, 256<<20, "a", "b", "c")
	defer w.close()
	a := w.create("S", "a", "b", "c")
	t := w.leader(a.ID).stream(a.ID)
	window, payload := make(chan struct{}, 256), make([]byte, 128)
	b.ReportAllocs()
	for b.Loop() {
		window <- struct{}{}
		err := t.Start(context.Background(), &command.Publish{Time: 1, Subject: "S.x", Payload: payload}, func(_ jetlog.Result, err error) {
			<-window
			if err != nil {
				b.Error(err)
			}
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for range cap(window) {
		window <- struct{}{}
	}
}
