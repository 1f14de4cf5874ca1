package rigtest

import "github.com/nats-io/nats.go/jetstream"

// Heard is what a subscriber complains about that gets these messages.
func Heard(texts ...string) []string {
	l := newListener("n1")
	for _, text := range texts {
		l.hear(text)
	}
	return l.findings()
}

// Floors is what workers complain about that are told these ack floors.
func Floors(floors ...uint64) []string {
	w := new(Workers)
	for _, floor := range floors {
		w.see(&jetstream.ConsumerInfo{AckFloor: jetstream.SequenceInfo{Stream: floor}, Cluster: &jetstream.ClusterInfo{Leader: "n1"}})
	}
	return w.wrong.list()
}

// RepeatedOf is how many of these deliveries workers count as repeated that have confirmations for some sequences first.
func RepeatedOf(confirmed []uint64, delivered ...uint64) int {
	w := &Workers{delivered: make(map[Message]int), confirmed: make(map[uint64]bool)}
	for _, sequence := range confirmed {
		w.confirm(sequence)
	}
	for _, sequence := range delivered {
		w.deliver(sequence, Message{"a", int(sequence)})
	}
	return w.Repeated()
}

// Took is what a reader complains about that gets messages with these sequences.
func Took(sequences ...uint64) []string {
	r := new(Reader)
	for _, sequence := range sequences {
		r.note(sequence, "text")
	}
	return r.wrong.list()
}
