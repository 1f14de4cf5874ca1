package group_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"runnel/cluster/group"
)

// raftReads is what raft reads of a configuration. It panics on bytes that it does not like.
func raftReads(b []byte) (c raft.Configuration, err any) {
	defer func() { err = recover() }()
	return raft.DecodeConfiguration(b), nil
}

// configurationOf has members with these names and kinds, whose addresses are their names unless given.
func configurationOf(servers ...string) (c raft.Configuration) {
	for i, name := range servers {
		id, address, given := strings.Cut(name, "=")
		if !given {
			address = id
		}
		c.Servers = append(c.Servers, raft.Server{
			Suffrage: raft.ServerSuffrage(i % 3), ID: raft.ServerID(id), Address: raft.ServerAddress(address),
		})
	}
	return c
}

// TestQuickConfiguration: what raft writes is read as raft reads it, and whatever is not quite that is left to raft.
func TestQuickConfiguration(t *testing.T) {
	written := raft.EncodeConfiguration(configurationOf("a", "b=there", "c"))
	for _, c := range []raft.Configuration{
		configurationOf("a"), configurationOf("a", "b", "c"), configurationOf("a", "b=there", "c", "", "é"),
		configurationOf(strings.Repeat("x", 31), strings.Repeat("y", 32), strings.Repeat("z", 300)+"="+strings.Repeat("z", 65000)),
		configurationOf(strings.Split(strings.Repeat("n,", 14)+"n", ",")...),
	} {
		b := raft.EncodeConfiguration(c)
		if got, ok := group.QuickConfiguration(b); !ok || !reflect.DeepEqual(got, c) {
			t.Errorf("%x: got %v, %t, want %v", b, got, ok, c)
		}
	}
	for name, b := range map[string][]byte{
		"nothing":                 nil,
		"none":                    raft.EncodeConfiguration(raft.Configuration{}),
		"more than a short list":  raft.EncodeConfiguration(configurationOf(strings.Split(strings.Repeat("n,", 15)+"n", ",")...)),
		"something behind":        append(slices.Clone(written), 0),
		"another key":             []byte(strings.Replace(string(written), "Servers", "Members", 1)),
		"another key of a server": []byte(strings.Replace(string(written), "Address", "Adresse", 1)),
		"a key twice":             []byte(strings.Replace(string(written), "\xa2ID", "\xa7Address", 1)),
		"an unknown kind":         []byte(strings.Replace(string(written), "Suffrage\x01", "Suffrage\x03", 1)),
	} {
		if got, ok := group.QuickConfiguration(b); ok {
			t.Errorf("%s: %x is taken for %v", name, b, got)
		}
	}
	for n := range written {
		if got, ok := group.QuickConfiguration(written[:n]); ok {
			t.Errorf("%d bytes of %d are taken for %v", n, len(written), got)
		}
	}
}

// FuzzQuickConfiguration: raft agrees with all that is read without it.
func FuzzQuickConfiguration(f *testing.F) {
	f.Add(raft.EncodeConfiguration(configurationOf("a", "b", "c=there")))
	f.Add(raft.EncodeConfiguration(configurationOf(strings.Repeat("x", 40))))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := group.QuickConfiguration(b)
		if !ok {
			return
		}
		if want, err := raftReads(b); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%x: got %v, raft reads %v, %v", b, got, want, err)
		}
	})
}

// TestMembersAllocations: the members of a group of three are found out without raft's decoder, which takes forty allocations and kilobytes.
func TestMembersAllocations(t *testing.T) {
	configuration := group.Birth([]string{"node-1", "node-2", "node-3"}).Configuration
	n := testing.AllocsPerRun(100, func() {
		if voters, _, err := group.Members(configuration); err != nil || len(voters) != 3 {
			t.Fatalf("got %v, %v", voters, err)
		}
	})
	if n > 20 { // 8, and some more under the race detector
		t.Errorf("got %v allocations, want 20 at most", n)
	}
}

func BenchmarkMembers(b *testing.B) {
	configuration := group.Birth([]string{"node-1", "node-2", "node-3"}).Configuration
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := group.Members(configuration); err != nil {
			b.Fatal(err)
		}
	}
}
