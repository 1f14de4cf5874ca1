package intern_test

import (
	"fmt"
	"testing"
	"unsafe"

	"runnel/server/engine/intern"
)

func TestIntern(t *testing.T) {
	var table intern.Table
	text := []byte("go and more")
	first, second := table.Intern(string(text[:2])), table.Intern(string(text[:2]))
	if first != "go" || unsafe.StringData(first) != unsafe.StringData(second) {
		t.Errorf("got %q and %q, or two copies", first, second)
	}
	for i := range 5000 {
		want := fmt.Sprint("name ", i)
		if got := table.Intern(want); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	one, other := table.Intern(fmt.Sprint("name ", 4999)), table.Intern(fmt.Sprint("name ", 4999))
	if unsafe.StringData(one) == unsafe.StringData(other) {
		t.Error("the table has no bounds")
	}
}
