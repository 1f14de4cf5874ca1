package accounts_test

import (
	"fmt"
	"slices"
	"testing"

	"runnel/server/accounts"
)

// rungs makes accounts that each import twice what the one before has.
func rungs(n int) (list []accountConfig) {
	for i := range n {
		a := accountConfig{Name: fmt.Sprint("L", i), Exports: []exportConfig{{Subject: ">"}}}
		if from := fmt.Sprint("L", i-1); i > 0 {
			a.Imports = []importConfig{{Account: from, Subject: ">", To: "a.>"}, {Account: from, Subject: ">", To: "b.>"}}
		}
		list = append(list, a)
	}
	return list
}

func TestFollow(t *testing.T) {
	p := activate(t, accounts.NewRegistry(), rungs(3)...)
	var got []string
	for i, local := range p.Account("L0").Follow("q") {
		got = append(got, i.Account.Name()+" "+local)
	}
	want := []string{"L1 a.q", "L2 a.a.q", "L2 b.a.q", "L1 b.q", "L2 a.b.q", "L2 b.b.q"}
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("got %q, want %q", got, want)
	}
	for range p.Account("L0").Follow("q") {
		break // whoever has seen enough may leave
	}
	for i, local := range p.Account("L2").Follow("q") {
		t.Errorf("from the last account to %s as %q", i.Account.Name(), local)
	}
}

// TestFollowEnds has very many ways lead on: some are taken, and the walk ends.
func TestFollowEnds(t *testing.T) {
	const accountsInARow = 20
	p := activate(t, accounts.NewRegistry(), rungs(accountsInARow)...)
	ways := make(map[string]int)
	for i := range p.Account("L0").Follow("q") {
		ways[i.Account.Name()]++
	}
	for n := 1; n < accountsInARow; n++ {
		want := 0
		if n <= accounts.ChainMost {
			want = min(1<<n, accounts.WaysMost)
		}
		if got := ways[fmt.Sprint("L", n)]; got != want {
			t.Errorf("account %d is reached in %d ways, want %d", n, got, want)
		}
	}
}
