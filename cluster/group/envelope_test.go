package group_test

import (
	"bytes"
	"slices"
	"testing"

	"runnel/cluster/group"
)

func TestEnvelope(t *testing.T) {
	b := append(group.EncodeEnvelope(0, 7, 8, 9), "records"...)
	kind, id, instance, number, records, err := group.DecodeEnvelope(b)
	if err != nil || kind != 0 || id != 7 || instance != 8 || number != 9 || string(records) != "records" {
		t.Errorf("got %d, %d, %d, %d, %q, %v", kind, id, instance, number, records, err)
	}
	bad := []struct {
		name  string
		entry []byte
	}{
		{"nothing", nil},
		{"another version", slices.Concat([]byte{2}, b[1:])},
		{"too short", b[:25]},
		{"an unknown kind", slices.Concat([]byte{1, 9}, b[2:])},
	}
	for _, test := range bad {
		if _, _, _, _, _, err := group.DecodeEnvelope(test.entry); err == nil {
			t.Errorf("%s: no error", test.name)
		}
	}
}

func FuzzDecodeEnvelope(f *testing.F) {
	f.Add(group.EncodeEnvelope(0, 1, 2, 3))
	f.Add(append(group.EncodeEnvelope(1, 1, 2, 3), 4))
	f.Fuzz(func(t *testing.T, b []byte) {
		kind, id, instance, number, records, err := group.DecodeEnvelope(b)
		if err == nil && !bytes.Equal(append(group.EncodeEnvelope(kind, id, instance, number), records...), b) {
			t.Errorf("%x is not what it decodes to", b)
		}
	})
}

func FuzzDecodeConfiguration(f *testing.F) {
	f.Add(group.Birth([]string{"a", "b"}).Configuration)
	f.Add([]byte("12345678\x81\xa7Servers\x91"))
	f.Fuzz(func(_ *testing.T, b []byte) { _ = group.DecodeConfiguration(b) })
}

func TestBirth(t *testing.T) {
	p := group.Birth([]string{"b", "a"})
	voters, others, err := group.Members(p.Configuration)
	if err != nil || !slices.Equal(voters, []string{"b", "a"}) || len(others) != 0 {
		t.Errorf("members are %q and %q, %v", voters, others, err)
	}
	if p.Index != 2 || p.Term != 1 {
		t.Errorf("place is %d of term %d, want 2 of term 1", p.Index, p.Term)
	}
	if !bytes.Equal(p.Configuration, group.Birth([]string{"b", "a"}).Configuration) {
		t.Error("two replicas are born with different configurations")
	}
	if _, _, err := group.Members([]byte("1234567890")); err == nil {
		t.Error("a damaged configuration is taken")
	}
}
