package accounts

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"runnel/subjects"
)

// network is accounts and the passages between them. It is not safe for concurrent use.
type network struct {
	definitions map[string]*definition
	// importers has by name of an account who has imports of it, in force or not.
	importers map[string]map[string]struct{}
	// passages are those that lead to or from an importer, by importer.
	passages map[*Account]map[link]*passage
	// ways are the passages that lead out of an account.
	ways map[*Account]*ways
	// crossings are what the engine sees, of accounts that have any.
	crossings map[*Account]*Crossings
}

// ways are the passages out of one account, by the pattern that enters them.
type ways [2]subjects.Patterns[*passage]

// of returns the passages of one kind.
func (w *ways) of(k kind) *subjects.Patterns[*passage] {
	if k == serviceKind {
		return &w[1]
	}
	return &w[0]
}

func newNetwork() *network {
	return &network{
		definitions: make(map[string]*definition),
		importers:   make(map[string]map[string]struct{}),
		passages:    make(map[*Account]map[link]*passage),
		ways:        make(map[*Account]*ways),
		crossings:   make(map[*Account]*Crossings),
	}
}

// define puts d in the place of what the account was defined as before, and changes no passage.
func (n *network) define(d *definition) {
	name := d.account.name
	n.undefine(name)
	n.definitions[name] = d
	for _, w := range d.imports {
		who := n.importers[w.Account]
		if who == nil {
			who = make(map[string]struct{})
			n.importers[w.Account] = who
		}
		who[name] = struct{}{}
	}
}

// undefine forgets what an account was defined as, and changes no passage.
func (n *network) undefine(name string) {
	d := n.definitions[name]
	if d == nil {
		return
	}
	delete(n.definitions, name)
	for _, w := range d.imports {
		delete(n.importers[w.Account], name)
		if len(n.importers[w.Account]) == 0 {
			delete(n.importers, w.Account)
		}
	}
}

// strangers returns an error for each account that something is exported to and that does not exist,
// and for each nkey that several accounts have.
func (n *network) strangers() (errs []error) {
	owners := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(n.definitions)) {
		d := n.definitions[name]
		if key := d.terms.nkey; key != "" {
			if first, taken := owners[key]; taken {
				errs = append(errs, fmt.Errorf("account %q: its nkey is that of account %q", name, first))
			}
			owners[key] = name
		}
		inOrder := func(a, b *export) int { return cmp.Compare(a.order, b.order) }
		for _, e := range slices.SortedFunc(d.exports.Overlapping(">"), inOrder) {
			for _, other := range e.Accounts {
				if n.definitions[other] == nil {
					errs = append(errs, fmt.Errorf("account %q: exports[%d]: %w %q", name, e.order, ErrUnknownAccount, other))
				}
			}
		}
	}
	return errs
}

// resolve returns the passage of an import, or why there is none.
func (n *network) resolve(d *definition, w *wanted) (*passage, error) {
	exporter := n.definitions[w.Account]
	if exporter == nil {
		return nil, fmt.Errorf("%w %q", ErrUnknownAccount, w.Account)
	}
	e, err := exporter.find(d, w)
	if err != nil {
		return nil, fmt.Errorf("%w: %v %q of account %q", err, kind(w.Service), w.Subject, w.Account)
	}
	return newPassage(exporter.account, d.account, e, w), nil
}

// open adds a passage to the ways out of an account.
func (n *network) open(p *passage) {
	from, leaves, _, _ := p.ends()
	if n.ways[from] == nil {
		n.ways[from] = new(ways)
	}
	n.ways[from].of(p.kind).Add(leaves, p)
	if n.passages[p.importer] == nil {
		n.passages[p.importer] = make(map[link]*passage)
	}
	n.passages[p.importer][p.link] = p
}

// shut takes a passage away again.
func (n *network) shut(p *passage) {
	from, leaves, _, _ := p.ends()
	w := n.ways[from]
	w.of(p.kind).Remove(leaves, p)
	if w[0].Len()+w[1].Len() == 0 {
		delete(n.ways, from)
	}
	delete(n.passages[p.importer], p.link)
	if len(n.passages[p.importer]) == 0 {
		delete(n.passages, p.importer)
	}
}

// connect works out all passages at once, and their crossings. Nobody sees these yet.
func (n *network) connect() (errs []error) {
	changes := make(changes)
	var opened []*passage
	for _, name := range slices.Sorted(maps.Keys(n.definitions)) {
		d := n.definitions[name]
		if d.mappings != nil {
			changes.of(d.account)
		}
		for _, w := range d.imports {
			p, err := n.resolve(d, w)
			if err != nil {
				errs = append(errs, d.importError(w, err))
				continue
			}
			n.open(p)
			opened = append(opened, p)
			changes.add(p)
		}
	}
	errs = append(errs, n.cycles(opened, mostCycles)...)
	for a, c := range changes {
		n.change(a, c)
	}
	return errs
}

// refresh works out the passages of one account again, and notes what changes. Imports that are
// not valid now are in the errors.
func (n *network) refresh(d *definition, changes changes) (errs []error) {
	before := n.passages[d.account]
	kept := make(map[link]bool)
	var fresh []*passage
	var from []*wanted
	for _, w := range d.imports {
		p, err := n.resolve(d, w)
		switch {
		case err != nil:
			errs = append(errs, d.importError(w, err))
		case before[p.link] != nil:
			kept[p.link] = true
		default:
			fresh, from = append(fresh, p), append(from, w)
		}
	}
	for l, p := range before {
		if !kept[l] {
			n.shut(p)
			changes.remove(p)
		}
	}
	for _, p := range fresh {
		n.open(p)
	}
	if n.cycles(fresh, 1) == nil {
		for _, p := range fresh {
			changes.add(p)
		}
		return errs
	}
	for _, p := range fresh {
		n.shut(p)
	}
	for i, p := range fresh { // one by one, to leave out the least
		n.open(p)
		if path := n.cycle(p); path != nil {
			n.shut(p)
			errs = append(errs, d.importError(from[i], cycleError(path)))
			continue
		}
		changes.add(p)
	}
	return errs
}

func (d *definition) importError(w *wanted, err error) error {
	return fmt.Errorf("account %q: imports[%d]: %w", d.account.name, w.order, err)
}

// arrival is where messages are that have come through a passage. Many passages may lead there.
type arrival struct {
	kind    kind
	account *Account
	subject string // a pattern
}

func (p *passage) arrival() arrival {
	_, _, to, arrives := p.ends()
	return arrival{p.kind, to, arrives}
}

// onward iterates over the passages that messages at an arrival may enter. What came as a stream leaves only as a
// stream, what came as a request leads on only as a request.
func (n *network) onward(at arrival) iter.Seq[*passage] {
	if w := n.ways[at.account]; w != nil {
		return w.of(at.kind).Overlapping(at.subject)
	}
	return func(func(*passage) bool) {}
}

// cycle returns the passages that lead from p back to p, p first, nil when none do.
func (n *network) cycle(p *passage) []*passage {
	path := []*passage{p}
	seen := make(map[arrival]bool)
	var leadsBack func(arrival) bool
	leadsBack = func(at arrival) bool {
		seen[at] = true
		for next := range n.onward(at) {
			if next == p {
				return true
			}
			if seen[next.arrival()] {
				continue
			}
			path = append(path, next)
			if leadsBack(next.arrival()) {
				return true
			}
			path = path[:len(path)-1]
		}
		return false
	}
	if leadsBack(p.arrival()) {
		return path
	}
	return nil
}

// mostCycles is how many cycles are told of one configuration.
const mostCycles = 10

// cycles returns an error for each way that leads back to where it begins, up to most of them. There must be no cycle of
// which none of the passages given is a part.
func (n *network) cycles(passages []*passage, most int) (errs []error) {
	// From the arrivals that are done no cycle begins that was not found. Those on the path have their places in it: the
	// passage path[place[at]] leads on from at.
	done := make(map[arrival]bool)
	place := make(map[arrival]int)
	var path []*passage
	var follow func(arrival)
	follow = func(at arrival) {
		place[at] = len(path)
		for next := range n.onward(at) {
			to := next.arrival()
			path = append(path, next)
			if i, ok := place[to]; ok {
				errs = append(errs, cycleError(path[i:]))
			} else if !done[to] {
				follow(to)
			}
			path = path[:len(path)-1]
			if len(errs) == most {
				break
			}
		}
		delete(place, at)
		done[at] = true
	}
	for _, p := range passages {
		if at := p.arrival(); !done[at] && len(errs) < most {
			follow(at)
		}
	}
	return errs
}

// longestCycle is how many steps of a cycle an error names.
const longestCycle = 16

// cycleError names the accounts and subjects that a message would pass for ever.
func cycleError(path []*passage) error {
	var b strings.Builder
	step := func(p *passage) {
		from, leaves, _, _ := p.ends()
		fmt.Fprintf(&b, "%q of account %q", leaves, from.name)
	}
	for _, p := range path[:min(len(path), longestCycle)] {
		step(p)
		b.WriteString(" -> ")
	}
	if more := len(path) - longestCycle; more > 0 {
		fmt.Fprintf(&b, "%d more -> ", more)
	}
	step(path[0])
	return fmt.Errorf("%w of %vs: %s", ErrImportCycle, path[0].kind, &b)
}
