package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"runnel/chaos/process"
)

// Kind is one sort of fault.
type Kind struct {
	Name string
	// Text says in a few words what is done.
	Text string
	// Takes says how many of the servers it is done to.
	Takes Takes
	// Least is the number of servers below which it makes no sense.
	Least int

	// do does it to some servers, lets it last and undoes it.
	do func(ctx context.Context, r *Runner, s Step, servers []*process.Server) error
	// missing is what it needs and the machine has not; nil when it can be done everywhere.
	missing func(r *Runner) error
}

// Takes is how many of n servers a fault is done to.
type Takes int

// The choices.
const (
	One      Takes = iota + 1 // one
	Two                       // two that stand in a relation to one another: the first is who it is done to
	Three                     // the same
	Minority                  // as many as may fail: one of three, two of five
	Majority                  // one more than may fail
	All
)

// of is the number of servers.
func (t Takes) of(n int) int {
	switch t {
	case One:
		return 1
	case Two:
		return 2
	case Three:
		return 3
	case Minority:
		// One server alone has no minority; what is done to it then is done to all there is.
		return max(1, (n-1)/2)
	case Majority:
		return n/2 + 1
	case All:
		return n
	}
	return 0
}

// Kinds are all faults, in the order in which people should read of them.
func Kinds() []Kind {
	return slices.Concat(endings(), networks(), pairs(), memberships(), disks())
}

// Find returns the kinds with some names; "all" and "mix" stand for all of them. The error names what there is.
func Find(names ...string) ([]Kind, error) {
	all := Kinds()
	var found []Kind
	for _, name := range names {
		if name == "all" || name == "mix" {
			return all, nil
		}
		i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no fault %q; there are: %s", name, Names(all))
		}
		found = append(found, all[i])
	}
	return found, nil
}

// Names are the names of kinds, with commas between.
func Names(kinds []Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

// Missing is why a fault cannot be done here; nil if it can.
func (k Kind) Missing(r *Runner) error {
	if n := len(r.Cluster.Servers()); n < k.Least {
		return fmt.Errorf("it needs %d servers, and there are %d", k.Least, n)
	}
	if k.missing == nil {
		return nil
	}
	return k.missing(r)
}
