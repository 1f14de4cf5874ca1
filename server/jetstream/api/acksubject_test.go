package api_test

import (
	"strings"
	"testing"

	"runnel/server/jetstream/api"
)

// TestAckSubject pins both forms, there and back.
func TestAckSubject(t *testing.T) {
	tests := []struct {
		name, subject string
		want          api.AckSubject
	}{
		{
			"first form", "$JS.ACK.S.C.1.2.3.1795997545858594015.4",
			api.AckSubject{Stream: "S", Consumer: "C", Deliveries: 1, StreamSequence: 2, ConsumerSequence: 3, Time: 1795997545858594015, Pending: 4},
		},
		{
			"second form", "$JS.ACK.hub.abcdefgh.S.C.1.2.3.4.5",
			api.AckSubject{Domain: "hub", Account: "abcdefgh", Stream: "S", Consumer: "C", Deliveries: 1, StreamSequence: 2, ConsumerSequence: 3, Time: 4, Pending: 5},
		},
		{
			"second form without domain", "$JS.ACK._.abcdefgh.S.C.1.2.3.4.5",
			api.AckSubject{Account: "abcdefgh", Stream: "S", Consumer: "C", Deliveries: 1, StreamSequence: 2, ConsumerSequence: 3, Time: 4, Pending: 5},
		},
		{
			"largest", "$JS.ACK.S.C.18446744073709551615.18446744073709551615.18446744073709551615.9223372036854775807.18446744073709551615",
			api.AckSubject{Stream: "S", Consumer: "C", Deliveries: 1<<64 - 1, StreamSequence: 1<<64 - 1, ConsumerSequence: 1<<64 - 1, Time: 1<<63 - 1, Pending: 1<<64 - 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := api.ParseAck(tt.subject)
			if !ok || got != tt.want {
				t.Errorf("parsed: got %+v %v, want %+v", got, ok, tt.want)
			}
			if s := string(api.AppendAckSubject(nil, &tt.want)); s != tt.subject {
				t.Errorf("built: got %s, want %s", s, tt.subject)
			}
		})
	}
	// Later versions of the second form may say more.
	if got, ok := api.ParseAck("$JS.ACK._.a.S.C.1.2.3.4.5.random.more"); !ok || got.Pending != 5 {
		t.Errorf("with more tokens: got %+v %v, want pending 5", got, ok)
	}
}

// TestNoAckSubject gives subjects that are none.
func TestNoAckSubject(t *testing.T) {
	for _, subject := range []string{
		"", "$JS.ACK", "$JS.ACK.", "$JS.ACK.S.C.1.2.3.4", "$JS.ACK.S.C.1.2.3.4.5.6", "$JS.ACK.S.C.1.2.3.x.5",
		"$JS.ACK.S.C.1.2.3.-4.5", "$JS.ACK..C.1.2.3.4.5", "$JS.ACK.S..1.2.3.4.5", "$JS.ACK.S.C.1.2.3.4.",
		"$JS.ACK.S.C.18446744073709551616.2.3.4.5", "$JS.ACK.S.C.1.2.3.9223372036854775808.5",
		"$JS.ACK.S.C.000000000000000000001.2.3.4.5", "$JS.FC.S.C.1.2.3.4.5", "$JS.ACK...S.C.1.2.3.4.5",
	} {
		if got, ok := api.ParseAck(subject); ok {
			t.Errorf("%q: got %+v, want none", subject, got)
		}
	}
}

// TestFlowSubject pins both forms, there and back.
func TestFlowSubject(t *testing.T) {
	tests := []struct {
		subject string
		want    api.FlowSubject
	}{
		{"$JS.FC.S.C.abc", api.FlowSubject{Stream: "S", Consumer: "C", ID: "abc"}},
		{"$JS.FC.hub.hash.S.C.abc", api.FlowSubject{Domain: "hub", Account: "hash", Stream: "S", Consumer: "C", ID: "abc"}},
		{"$JS.FC._.hash.S.C.abc", api.FlowSubject{Account: "hash", Stream: "S", Consumer: "C", ID: "abc"}},
	}
	for _, tt := range tests {
		if got, ok := api.ParseFlow(tt.subject); !ok || got != tt.want {
			t.Errorf("%s: got %+v %v, want %+v", tt.subject, got, ok, tt.want)
		}
		if s := string(api.AppendFlowSubject(nil, &tt.want)); s != tt.subject {
			t.Errorf("built: got %s, want %s", s, tt.subject)
		}
	}
	for _, subject := range []string{"", "$JS.FC.S.C", "$JS.FC.S.C.", "$JS.FC.S.C.a.b", "$JS.FC..C.a", "$JS.ACK.S.C.a"} {
		if got, ok := api.ParseFlow(subject); ok {
			t.Errorf("%q: got %+v, want none", subject, got)
		}
	}
}

// TestBackupSubjects pins the subjects of backups, there and back.
func TestBackupSubjects(t *testing.T) {
	subject := api.SnapshotAckSubject("S", "x1", 131072, 3)
	if want := "$JS.SNAPSHOT.ACK.S.x1.131072.3"; subject != want {
		t.Errorf("acknowledgement: got %s, want %s", subject, want)
	}
	stream, id, size, number, ok := api.ParseSnapshotAck(subject)
	if stream != "S" || id != "x1" || size != 131072 || number != 3 || !ok {
		t.Errorf("parsed: got %s %s %d %d %v", stream, id, size, number, ok)
	}
	for _, bad := range []string{"$JS.SNAPSHOT.ACK.S.x1.131072", "$JS.SNAPSHOT.ACK.S.x1.a.3", "$JS.SNAPSHOT.ACK.S.x1.1.99999999999", "$JS.SNAPSHOT.ACK..x1.1.3", ""} {
		if _, _, _, _, ok := api.ParseSnapshotAck(bad); ok {
			t.Errorf("%q is taken for an acknowledgement", bad)
		}
	}
	if got, want := api.RestoreSubject("S", "x1"), "$JS.SNAPSHOT.RESTORE.S.x1"; got != want {
		t.Errorf("restore: got %s, want %s", got, want)
	}
	if stream, id, ok := api.ParseRestoreSubject("$JS.SNAPSHOT.RESTORE.S.x1"); stream != "S" || id != "x1" || !ok {
		t.Errorf("parsed: got %s %s %v", stream, id, ok)
	}
	for _, bad := range []string{"$JS.SNAPSHOT.RESTORE.S", "$JS.SNAPSHOT.RESTORE.S.", "$JS.SNAPSHOT.RESTORE.S.a.b", "x"} {
		if _, _, ok := api.ParseRestoreSubject(bad); ok {
			t.Errorf("%q is taken for a restore", bad)
		}
	}
}

// TestAckAllocations checks that acknowledgements cost no garbage.
func TestAckAllocations(t *testing.T) {
	out := make([]byte, 0, 200)
	a, _ := api.ParseAck("$JS.ACK.S.C.1.2.3.1795997545858594015.4")
	subject := string(api.AppendAckSubject(nil, &a))
	payload := []byte("+NXT 5")
	got := testing.AllocsPerRun(100, func() {
		out = api.AppendAckSubject(out[:0], &a)
		a, _ = api.ParseAck(subject)
		api.ParseAckPayload(payload)
	})
	if got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

// FuzzAckSubject checks that what is parsed is written the same, but for what is not kept.
func FuzzAckSubject(f *testing.F) {
	f.Add("$JS.ACK.S.C.1.2.3.4.5")
	f.Add("$JS.ACK._.h.S.C.1.2.3.4.5.6")
	f.Add("$JS.FC.S.C.a")
	f.Add("$JS.SNAPSHOT.ACK.S.x1.131072.3")
	f.Fuzz(func(t *testing.T, subject string) {
		api.ParseSnapshotAck(subject)
		api.ParseRestoreSubject(subject)
		if flow, ok := api.ParseFlow(subject); ok {
			if again, ok := api.ParseFlow(string(api.AppendFlowSubject(nil, &flow))); !ok || again != flow {
				t.Errorf("flow control: got %+v, want %+v", again, flow)
			}
		}
		a, ok := api.ParseAck(subject)
		if !ok {
			return
		}
		if again, ok := api.ParseAck(string(api.AppendAckSubject(nil, &a))); !ok || again != a {
			t.Errorf("got %+v, want %+v", again, a)
		}
	})
}

func BenchmarkAckSubject(b *testing.B) {
	a, _ := api.ParseAck("$JS.ACK.ORDERS.worker.1.2000000.3000000.1795997545858594015.400000")
	out := make([]byte, 0, 200)
	b.ReportAllocs()
	for b.Loop() {
		out = api.AppendAckSubject(out[:0], &a)
	}
}

func BenchmarkParseAck(b *testing.B) {
	subject := "$JS.ACK.ORDERS.worker.1.2000000.3000000.1795997545858594015.400000"
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := api.ParseAck(subject); !ok {
			b.Fatal(strings.Clone(subject))
		}
	}
}
