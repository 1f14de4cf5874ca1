package conf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"runnel/conf/syntax"
)

// The slots of users, accounts and mappings that have forms of their own.

// connectionTypes are how a user may connect.
var connectionTypes = []string{"STANDARD", "WEBSOCKET", "LEAFNODE", "LEAFNODE_WS", "MQTT", "MQTT_WS", "IN_PROCESS"}

// ConnectionTypes returns the values of [User.ConnectionTypes].
func ConnectionTypes() []string { return slices.Clone(connectionTypes) }

// connectionTypesSlot takes a list of connection types in any case.
func connectionTypesSlot(place *[]string) slot {
	return special{
		"list of connection types",
		func(d *decoder, path string, v *syntax.Value) {
			types := []string{}
			each(v, func(item *syntax.Value) {
				var t string
				choice(&t, connectionTypes...).read(d, path, item)
				types = append(types, t)
			})
			*place = types
		},
		func() string { return showList(*place) },
	}
}

// readShortResponses reads `allow_responses: true`.
func readShortResponses(_ *decoder, _ string, v *syntax.Value, r *ResponsePermission) (*ResponsePermission, bool) {
	if v.Kind != syntax.Boolean || v.Boolean {
		return r, v.Kind == syntax.Boolean
	}
	return nil, true
}

// isSwitch reports whether v says on or off, as a boolean or in words.
func isSwitch(v *syntax.Value) (on, ok bool) {
	switch {
	case v.Kind == syntax.Boolean:
		return v.Boolean, true
	case v.Kind == syntax.String && (strings.EqualFold(v.Text, "enabled") || strings.EqualFold(v.Text, "enable")):
		return true, true
	case v.Kind == syntax.String && (strings.EqualFold(v.Text, "disabled") || strings.EqualFold(v.Text, "disable")):
		return false, true
	}
	return false, false
}

// resolverType takes the type of a resolver, which has short names.
func resolverType(place *string) slot {
	types := choice(place, "memory", "mem", "url", "full", "cache")
	return special{
		types.kind(),
		func(d *decoder, path string, v *syntax.Value) {
			types.read(d, path, v)
			if *place == "mem" {
				*place = "memory"
			}
		},
		types.show,
	}
}

// readShortResolver reads `resolver: MEMORY` and `resolver: URL(...)`.
func readShortResolver(_ *decoder, _ string, v *syntax.Value, r *Resolver) (*Resolver, bool) {
	upper := strings.ToUpper(v.Text)
	switch {
	case !v.IsScalar():
		return nil, false
	case upper == "MEM" || upper == "MEMORY":
		r.Type = "memory"
	case strings.HasPrefix(upper, "URL(") && strings.HasSuffix(v.Text, ")"):
		r.Type, r.URL = "url", v.Text[len("URL("):len(v.Text)-1]
	default:
		return nil, false
	}
	return r, true
}

// kindOfSubject takes the subject of an export, and notes whether it is that
// of a service.
func kindOfSubject(subject *string, service *bool, isService bool) slot {
	return special{
		"subject",
		func(d *decoder, path string, v *syntax.Value) {
			if *subject != "" {
				d.Fail(v.Pos, "%s: an export is either a stream or a service, not both", path)
				return
			}
			text(subject).read(d, path, v)
			*service = isService
		},
		func() string {
			if *service != isService {
				return ""
			}
			return *subject
		},
	}
}

// responseType takes how a service answers.
func responseType(place *string) slot {
	types := choice(place, "single", "singleton", "stream", "chunked", "chunk")
	return special{
		"single, stream or chunked",
		func(d *decoder, path string, v *syntax.Value) {
			types.read(d, path, v)
			switch *place {
			case "singleton":
				*place = "single"
			case "chunk":
				*place = "chunked"
			}
		},
		types.show,
	}
}

// sampling takes a percentage, or the word headers where those may decide.
func sampling(place *int, headers bool) slot {
	words := "1 to 100"
	if headers {
		words += ", or headers"
	}
	return special{
		words,
		func(d *decoder, path string, v *syntax.Value) {
			if headers && strings.EqualFold(v.Text, "headers") {
				*place = 0
				return
			}
			percentage(place, 1).read(d, path, v)
		},
		func() string { return strconv.Itoa(*place) },
	}
}

// percentage takes a number up to 100, with or without a percent sign.
func percentage(place *int, minimum int) slot {
	return special{
		"percentage",
		func(d *decoder, path string, v *syntax.Value) {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(v.Text, "%")))
			if !v.IsScalar() || err != nil || n < minimum || n > 100 {
				d.wrong(path, v, fmt.Sprintf("a percentage from %d to 100", minimum))
				return
			}
			*place = n
		},
		func() string { return strconv.Itoa(*place) },
	}
}

// readShortLatency reads `latency: subject`.
func readShortLatency(_ *decoder, _ string, v *syntax.Value, l *Latency) (*Latency, bool) {
	l.Subject = v.Text
	return l, v.IsScalar()
}

// readShortMessageTrace reads `msg_trace: subject`.
func readShortMessageTrace(_ *decoder, _ string, v *syntax.Value, m *MessageTrace) (*MessageTrace, bool) {
	m.Destination = v.Text
	return m, v.IsScalar()
}

// importSourceKeys are the keys of an import's `stream` or `service`.
var importSourceKeys = []key[Import]{
	row("account", reloadInherit, "Account that exports it.",
		func(i *Import) slot { return text(&i.Account) }),
	row("subject", reloadInherit, "Subject of the export.",
		func(i *Import) slot { return text(&i.Subject) }),
}

// importSource takes what an import refers to, and notes whether that is a
// service.
func importSource(i *Import, service bool) slot {
	s := blockSlot[Import]{
		set:     func(t *Import) { i.Account, i.Subject, i.Service = t.Account, t.Subject, service },
		keys:    importSourceKeys,
		fresh:   zero[Import],
		present: func(t *Import) bool { return t != nil && t.Account+t.Subject != "" },
	}
	if i.Service == service {
		s.current = i
	}
	return s
}

// mappingsSlot takes a map from sources to destinations.
type mappingsSlot struct{ place *[]Mapping }

func mappings(place *[]Mapping) slot { return mappingsSlot{place} }

// destinationKeys are those of one destination of a mapping.
var destinationKeys = []key[MappingDestination]{
	row("destination dest", reloadInherit, "Subject that the message gets; it may use parts of the source.",
		func(m *MappingDestination) slot { return text(&m.Subject) }),
	row("weight", reloadInherit, "Share of the messages in percent.",
		func(m *MappingDestination) slot { return percentage(&m.Weight, 0) }),
	row("cluster", reloadInherit, "Cluster whose servers use this destination.",
		func(m *MappingDestination) slot { return orElse(text(&m.Cluster), "all") }),
}

func newDestination() *MappingDestination { return &MappingDestination{Weight: 100} }

func (s mappingsSlot) kind() string {
	return "block of subjects with their destinations"
}

func (s mappingsSlot) show() string { return "" }

func (s mappingsSlot) read(d *decoder, path string, v *syntax.Value) {
	*s.place = []Mapping{}
	d.readNames(path, v, func(path string, f *syntax.Field) {
		m := Mapping{Source: f.Key}
		each(f.Value, func(item *syntax.Value) {
			to := newDestination()
			if item.IsScalar() {
				text(&to.Subject).read(d, path, item)
			} else {
				readKeys(d, path, item, destinationKeys, to)
			}
			m.Destinations = append(m.Destinations, *to)
		})
		*s.place = append(*s.place, m)
	})
}

func (s mappingsSlot) walk(path string, r Reload, visit func(leaf)) {
	for i := range *s.place {
		m := &(*s.place)[i]
		visit(leaf{path: element(path, m.Source), reload: r, slot: special{shower: m.show}})
	}
}

func (s mappingsSlot) outline(path string, r Reload, visit func(leaf)) {
	outlineKeys(destinationKeys, newDestination(), path, r, visit)
}

// show returns the destinations with weights and clusters that are not the usual.
func (m *Mapping) show() string {
	shown := make([]string, len(m.Destinations))
	for i, to := range m.Destinations {
		shown[i] = to.Subject
		if to.Weight != 100 {
			shown[i] += fmt.Sprintf(" %d%%", to.Weight)
		}
		if to.Cluster != "" {
			shown[i] += " in " + to.Cluster
		}
	}
	if len(shown) == 1 {
		return shown[0]
	}
	return showList(shown)
}
