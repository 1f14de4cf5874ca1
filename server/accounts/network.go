package accounts

import (
	"fmt"
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
		for e := range d.exports.Overlapping(">") {
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
			changes.add(p)
		}
	}
	errs = append(errs, n.cycles()...)
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
	for i, p := range fresh {
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

// onward calls visit with the passages that a message which has come through p may enter, until
// visit returns false, which it returns then. What came as a stream leaves only as a stream, what
// came as a request leads on only as a request.
func (n *network) onward(p *passage, visit func(*passage) bool) bool {
	_, _, to, arrives := p.ends()
	w := n.ways[to]
	if w == nil {
		return true
	}
	for next := range w.of(p.kind).Overlapping(arrives) {
		if !visit(next) {
			return false
		}
	}
	return true
}

// cycle returns the passages that lead from p back to p, nil when none do.
func (n *network) cycle(p *passage) (path []*passage) {
	seen := make(map[*passage]bool)
	var follow func(*passage) bool
	follow = func(at *passage) bool {
		path = append(path, at)
		if !n.onward(at, func(next *passage) bool {
			if next == p {
				return false
			}
			if seen[next] {
				return true
			}
			seen[next] = true
			return follow(next)
		}) {
			return false
		}
		path = path[:len(path)-1]
		return true
	}
	if follow(p) {
		return nil
	}
	return path
}

// cycles returns an error for each group of passages that leads back to where it begins.
func (n *network) cycles() (errs []error) {
	// done passages lead into no cycle that was not reported, those on the path have their
	// place in it.
	done := make(map[*passage]bool)
	place := make(map[*passage]int)
	var path []*passage
	var follow func(*passage)
	follow = func(at *passage) {
		place[at] = len(path)
		path = append(path, at)
		n.onward(at, func(next *passage) bool {
			if i, ok := place[next]; ok {
				errs = append(errs, cycleError(path[i:]))
			} else if !done[next] {
				follow(next)
			}
			return true
		})
		path = path[:len(path)-1]
		delete(place, at)
		done[at] = true
	}
	for _, name := range slices.Sorted(maps.Keys(n.definitions)) {
		for _, p := range n.passages[n.definitions[name].account] {
			if !done[p] {
				follow(p)
			}
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
