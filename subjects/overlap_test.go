package subjects_test

import (
	"testing"

	"runnel/subjects"
)

func TestOverlapAny(t *testing.T) {
	for _, tt := range []struct {
		a, b []string
		want bool
	}{
		{[]string{"a.*", "b"}, []string{"c", "*.b"}, true},
		{[]string{"a.*", "b"}, []string{"c", "b.b"}, false},
		{nil, []string{">"}, false},
		{[]string{">"}, nil, false},
	} {
		if got := subjects.OverlapAny(tt.a, tt.b); got != tt.want {
			t.Errorf("%q and %q: got %v", tt.a, tt.b, got)
		}
	}
}
