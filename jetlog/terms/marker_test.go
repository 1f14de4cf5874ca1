package terms_test

import (
	"testing"

	"runnel/headers"
	"runnel/jetlog/terms"
)

func TestMarks(t *testing.T) {
	for name, want := range map[string]bool{"Nats-Marker-Reason": true, "KV-Operation": false, "Other": false} {
		if got := terms.Marks(headers.Build(headers.Field{Name: name, Value: "DEL"})); got != want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if !terms.Marks(headers.Build(headers.Field{Name: "KV-Operation", Value: "PURGE"})) || terms.Marks(nil) {
		t.Error("a purge of a key marks, nothing does not")
	}
}
