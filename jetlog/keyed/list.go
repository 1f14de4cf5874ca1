package keyed

// links are the neighbours of a turn in a list, 0 at its ends.
type links struct{ before, after uint32 }

// list is turns in the order in which they came to a state.
type list struct {
	first, last uint32
	length      int
}

// enter puts a turn, which is in no list, at the end of the list of a state.
func (t *Table) enter(i uint32, s State) {
	l, turn := &t.lists[s], t.turns.at(i)
	turn.state = s
	turn.links = links{before: l.last}
	if l.last == 0 {
		l.first = i
	} else {
		t.turns.at(l.last).links.after = i
	}
	l.last = i
	l.length++
}

// enterFirst puts a turn, which is in no list, at the beginning of the list of a state.
func (t *Table) enterFirst(i uint32, s State) {
	l, turn := &t.lists[s], t.turns.at(i)
	turn.state = s
	turn.links = links{after: l.first}
	if l.first == 0 {
		l.last = i
	} else {
		t.turns.at(l.first).links.before = i
	}
	l.first = i
	l.length++
}

// leave takes a turn out of the list of its state.
func (t *Table) leave(i uint32) {
	turn := t.turns.at(i)
	l, at := &t.lists[turn.state], turn.links
	if at.before == 0 {
		l.first = at.after
	} else {
		t.turns.at(at.before).links.after = at.after
	}
	if at.after == 0 {
		l.last = at.before
	} else {
		t.turns.at(at.after).links.before = at.before
	}
	l.length--
}

// move puts a turn at the end of the list of another state.
func (t *Table) move(i uint32, s State) {
	t.leave(i)
	t.enter(i, s)
}

// pageSize is how many values a pool makes room for at once. A table with few keys stays small, and one with a
// million is never copied to grow.
const pageSize = 128

// pool is values with numbers from 1 on, which are used again. They have no pointers, so the garbage collector
// does not look at them.
type pool[T any] struct {
	pages [][]T
	given []uint32 // free numbers
	taken int      // numbers that have ever been in use
}

// take returns a number that is free. What its value is, is for the caller to say.
func (p *pool[T]) take() uint32 {
	if n := len(p.given); n > 0 {
		i := p.given[n-1]
		p.given = p.given[:n-1]
		return i
	}
	if p.taken == len(p.pages)*pageSize {
		p.pages = append(p.pages, make([]T, pageSize))
	}
	p.taken++
	return uint32(p.taken)
}

// give frees a number.
func (p *pool[T]) give(i uint32) { p.given = append(p.given, i) }

// at returns the value with a number, valid for as long as the number is in use.
func (p *pool[T]) at(i uint32) *T {
	i--
	return &p.pages[i/pageSize][i%pageSize]
}

// size returns how many values there is room for.
func (p *pool[T]) size() int { return len(p.pages) * pageSize }
