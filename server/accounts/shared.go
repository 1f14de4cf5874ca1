package accounts

import "iter"

// Shared is what an account shares and rewrites, as it is configured: for people to look at. Nothing in it must be
// changed.
type Shared struct {
	Exports  []ExportConfig
	Imports  []Imported
	Mappings []MappingConfig
}

// Imported is an import and what has become of it.
type Imported struct {
	*ImportConfig
	// Local is the pattern under which it appears in the account.
	Local string
	// Valid says that the exporting account allows it, so that it is in force.
	Valid bool
	// Latency says what the exporting account measures, nil for nothing.
	Latency *LatencyConfig
}

// Shared returns what the account shares and rewrites.
func (a *Account) Shared() Shared {
	t := a.terms.Load()
	s := Shared{Exports: t.exports, Mappings: t.mappings}
	x := a.Crossings()
	for _, w := range t.imports {
		i := Imported{ImportConfig: w.ImportConfig, Local: w.local}
		if p := x.passage(w); p != nil {
			i.Valid = true
			if p.service != nil {
				i.Latency = p.service.Latency
			}
		}
		s.Imports = append(s.Imports, i)
	}
	return s
}

// passage returns what an import of the account has led to, nil when it is not in force.
func (x *Crossings) passage(w *wanted) *passage {
	if x == nil {
		return nil
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	is := func(p *passage) bool {
		return p.local == w.local && p.remote == w.remote && p.exporter.name == w.Account
	}
	if w.Service {
		return find(x.services.Overlapping(w.local), func(i *ServiceImport) *passage { return i.passage }, is)
	}
	return find(x.sources.Overlapping(w.local), func(i *StreamImport) *passage { return i.passage }, is)
}

// find returns the first passage that is the one.
func find[V any](values iter.Seq[V], of func(V) *passage, is func(*passage) bool) *passage {
	for v := range values {
		if p := of(v); is(p) {
			return p
		}
	}
	return nil
}
