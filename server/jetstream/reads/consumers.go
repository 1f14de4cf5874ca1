package reads

import "runnel/jetlog"

// HasConsumer reports whether the stream's state has a consumer of that name.
func HasConsumer(log Log, name string) (has bool) {
	_ = log.View(func(state *jetlog.Stream, _ jetlog.Messages) error { // a stream that is closed has none
		has = state.Consumer(name) != nil
		return nil
	})
	return has
}

// Consumers returns the names of the consumers for which keep is true; nil is for those that are not the server's own.
func Consumers(log Log, keep func(*jetlog.Consumer) bool) (names []string, err error) {
	err = log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		names = nil // a View may begin again
		for _, c := range state.Consumers() {
			if keep == nil && !Hidden(c) || keep != nil && keep(c) {
				names = append(names, c.Name())
			}
		}
		return nil
	})
	return names, err
}

// CountConsumers is how many consumers clients have.
func CountConsumers(log Log) int {
	names, _ := Consumers(log, nil) // a stream that is closed has none
	return len(names)
}

// InMemory reports whether a consumer was to be in memory only, and nobody will come back to it by its name after a start.
func InMemory(c *jetlog.Consumer) bool {
	cfg := c.Config()
	return cfg.Memory && cfg.Durable == ""
}

// DeliverSubject returns the one of a consumer, empty for none.
func DeliverSubject(log Log, consumer string) (subject string, err error) {
	err = log.View(func(state *jetlog.Stream, _ jetlog.Messages) error {
		if c := state.Consumer(consumer); c != nil {
			subject = c.Common().DeliverSubject
		}
		return nil
	})
	return subject, err
}
