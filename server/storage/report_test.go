package storage_test

import (
	"log/slog"
	"strings"
	"testing"

	"runnel/jetlog/store"
	"runnel/jetlog/wal"
	"runnel/server/storage"
)

// TestLogReport sees that what is harmless is not told as an error, and that the words say so.
func TestLogReport(t *testing.T) {
	for _, tt := range []struct {
		name   string
		report store.Report
		want   []string
	}{
		{"killed", store.Report{Torn: &wal.Torn{File: "1.wal", Bytes: 9}}, []string{"INFO", "nothing that was safe is lost", "1.wal"}},
		{"without consequence", store.Report{Damage: []wal.Damage{{File: "2.wal", Harmless: true}}}, []string{"WARN", "nothing is lost", "2.wal"}},
		{"damage", store.Report{Damage: []wal.Damage{{File: "3.wal"}}}, []string{"ERROR", "3.wal"}},
		{"a note", store.Report{Notes: []string{"4.wal: missing"}}, []string{"WARN", "4.wal"}},
		{"a foreign file", store.Report{Aside: []string{"5.segment"}}, []string{"WARN", "5.segment"}},
	} {
		var out strings.Builder
		storage.LogReport(slog.New(slog.NewTextHandler(&out, nil)), "dir", &tt.report, 1)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		for _, want := range tt.want {
			if last := lines[len(lines)-1]; len(lines) != 2 || !strings.Contains(last, want) {
				t.Errorf("%s: got %q, want %q in the second line", tt.name, lines, want)
			}
		}
	}
}
