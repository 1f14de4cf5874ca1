package conf

// Keep undoes in wanted what a reload of a server that runs with running cannot apply: such keys get their
// running value again, so that the rest of wanted can be applied. It returns those changes, and apart from them
// the ones that stand in the way of any reload, since they cannot be undone by themselves (a block that came or
// went, an element of a list); with one of the latter wanted must not be used.
func Keep(running, wanted *Options) (kept, stuck []Change) {
	var places map[string]slot
	for _, c := range Diff(running, wanted) {
		if c.Reloadable {
			continue
		}
		if places == nil {
			places = placesOf(running)
		}
		if keepOne(places[c.Key], wanted, c.Key) {
			kept = append(kept, c)
		} else {
			stuck = append(stuck, c)
		}
	}
	return kept, stuck
}

// keepOne gives one key of wanted the value of the running slot.
func keepOne(running slot, wanted *Options, path string) bool {
	place := placesOf(wanted)[path]
	if running == nil || place == nil {
		return false
	}
	t, ok := place.(taker)
	return ok && t.take(running)
}

// placesOf finds the slots of all keys that o has a value for, by path.
func placesOf(o *Options) map[string]slot {
	places := make(map[string]slot)
	walkKeys(serverKeys, o, "", ReloadNo, func(l leaf) {
		if _, ok := l.setting(); ok {
			places[l.path] = bare(l.slot)
		}
	})
	return places
}

// bare unwraps a slot from what concerns only how it is shown.
func bare(s slot) slot {
	for {
		switch wrapped := s.(type) {
		case described:
			s = wrapped.slot
		case secretSlot:
			s = wrapped.slot
		default:
			return s
		}
	}
}

// taker is a slot that can take over the value of another of its kind.
type taker interface{ take(from slot) bool }

// takeValue copies what the place of one slot holds to the place of another.
func takeValue[T any](to *T, from *T, ok bool) bool {
	if ok {
		*to = *from
	}
	return ok
}

func (s textSlot) take(from slot) bool {
	f, ok := from.(textSlot)
	return takeValue(s.place, f.place, ok)
}

func (s choiceSlot[S]) take(from slot) bool {
	f, ok := from.(choiceSlot[S])
	return takeValue(s.place, f.place, ok)
}

func (s flagSlot) take(from slot) bool {
	f, ok := from.(flagSlot)
	return takeValue(s.place, f.place, ok)
}

func (s numberSlot[N]) take(from slot) bool {
	f, ok := from.(numberSlot[N])
	return takeValue(s.place, f.place, ok)
}

func (s durationSlot) take(from slot) bool {
	f, ok := from.(durationSlot)
	return takeValue(s.place, f.place, ok)
}

func (s listSlot) take(from slot) bool {
	f, ok := from.(listSlot)
	return takeValue(s.place, f.place, ok)
}

func (s textsSlot) take(from slot) bool {
	f, ok := from.(textsSlot)
	return takeValue(s.place, f.place, ok)
}

func (s flagsSlot) take(from slot) bool {
	f, ok := from.(flagsSlot)
	return takeValue(s.place, f.place, ok)
}

func (s addressSlot) take(from slot) bool {
	f, ok := from.(addressSlot)
	return takeValue(s.host, f.host, ok) && takeValue(s.port, f.port, ok)
}
