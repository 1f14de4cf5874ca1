package reserved_test

import (
	"testing"

	"runnel/server/engine/reserved"
)

func TestReserved(t *testing.T) {
	tests := []struct {
		subject                    string
		reply, ack, publish, asked bool
	}{
		{subject: "a"},
		{subject: "_"},
		{subject: "$"},
		{subject: "_R_"},
		{subject: "_R_.a", reply: true, asked: true},
		{subject: "_R_x.a"},
		{subject: "_GR_.a", publish: true, asked: true},
		{subject: "$NRG.a", publish: true},
		{subject: "$JS.ACK.a", ack: true, asked: true},
		{subject: "$JS.ACK"},
		{subject: "$JS.API.INFO"},
		{subject: "_INBOX.a.b"},
	}
	for _, tt := range tests {
		s := []byte(tt.subject)
		if reserved.Reply(s) != tt.reply || reserved.Ack(s) != tt.ack || reserved.Publish(s) != tt.publish || reserved.AsReply(s) != tt.asked {
			t.Errorf("%s: got %v, %v, %v, %v, want %+v", s, reserved.Reply(s), reserved.Ack(s), reserved.Publish(s), reserved.AsReply(s), tt)
		}
	}
	if reserved.Reply(nil) || reserved.Ack(nil) || reserved.Publish(nil) {
		t.Error("nothing is reserved")
	}
}

func TestSeries(t *testing.T) {
	tests := []struct {
		subject, prefix string
		below           bool
	}{
		{"a", "", false},
		{"a.", "", false},
		{".a", "", false},
		{"a.b", "a.", false},
		{"_INBOX.me.1", "_INBOX.me.", false},
		{"$JS.ACK.s.c.1.2.3.4.5", "$JS.ACK.s.c.", true},
		{"$JS.ACK.s.c.1", "$JS.ACK.s.c.", true},
		{"$JS.ACK.s.c", "", true},
		{"$JS.ACK.s.c.", "", true},
		{"$JS.ACK.s.c.1..2", "", true},
		{"$JS.ACK.s.c..1", "", true},
		{"$JS.ACK.s.c.1.", "", true},
		{"_R_.aaaaaa.bbbbbb.cccccccc", "_R_.aaaaaa.bbbbbb.", true},
		{"_R_.aaaaaa.bbbbbb.cccccccc.T", "_R_.aaaaaa.bbbbbb.", true},
		{"_R_.aaaaaa.bbbbbb", "", true},
		{"_R_.", "", true},
	}
	for _, tt := range tests {
		if prefix, below := reserved.Series([]byte(tt.subject)); string(prefix) != tt.prefix || below != tt.below {
			t.Errorf("Series(%q) = %q, %v, want %q, %v", tt.subject, prefix, below, tt.prefix, tt.below)
		}
	}
}

// FuzzSeries: what a subject has in common with others is its beginning, ends with a dot and leaves something.
func FuzzSeries(f *testing.F) {
	for _, s := range []string{"a.b", "$JS.ACK.s.c.1.2", "_R_.a.b.c", "..", "$JS.ACK....."} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		prefix, _ := reserved.Series(s)
		if n := len(prefix); n > 0 && (n >= len(s) || prefix[n-1] != '.' || string(s[:n]) != string(prefix)) {
			t.Errorf("Series(%q) = %q", s, prefix)
		}
	})
}
