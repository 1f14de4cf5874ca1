package rigtest_test

import (
	"testing"

	"runnel/cluster/rigtest"
)

func TestListenerFindings(t *testing.T) {
	tests := []struct {
		name  string
		heard []string
		want  []string
	}{
		{"in order", []string{"n1-0 1", "n2-0 1", "n1-0 2"}, nil},
		{"some lost", []string{"n1-0 1", "n1-0 4"}, nil},
		{"another connection", []string{"n1-0 4", "n1-1 1"}, nil},
		{"twice", []string{"n1-0 1", "n1-0 1"}, []string{"twice: message 1 of n1-0"}},
		{"out of order", []string{"n1-0 2", "n1-0 1"}, []string{"order: message 1 of n1-0 after 2"}},
		{"of somebody else", []string{"hello"}, []string{"alien: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wantFindings(t, rigtest.Heard(tt.heard...), tt.want) })
	}
}

func TestWorkersFindings(t *testing.T) {
	wantFindings(t, rigtest.Floors(0, 1, 1, 5), nil)
	wantFindings(t, rigtest.Floors(3, 1, 5, 4), []string{"floor: the ack floor is 1 on n1, after it was 3", "floor: the ack floor is 4 on n1, after it was 5"})
	if got := rigtest.RepeatedOf([]uint64{1, 2}, 2, 3, 3); got != 1 {
		t.Errorf("got %d repeated, want the one that was confirmed", got)
	}
}

func TestReaderFindings(t *testing.T) {
	wantFindings(t, rigtest.Took(1, 2, 3), nil)
	wantFindings(t, rigtest.Took(1, 3), []string{"order: sequence 3 where 2 was due"})
	wantFindings(t, rigtest.Took(1, 2, 1), []string{"order: sequence 1 where 3 was due"})
}
