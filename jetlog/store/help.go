package store

import "runnel/jetlog/command"

// The bounds of what the goroutine that writes the log applies itself.
const (
	// helpCommands is how many commands at most, of all shards: with more it is better to write meanwhile what comes
	// next, and to use other processors.
	helpCommands = 512
	// helpMany is how many messages at most a command is about.
	helpMany = 64
	// askingRest is for how many times nothing is, after files had to be read: that is likely to happen again.
	askingRest = 1000
)

// serve sees to it that everything is applied that has become safe.
func (s *Store) serve() {
	waiting := 0
	for sh := range s.allShards() {
		if sh.waiting.Load() > 0 {
			waiting++
		}
	}
	for sh := range s.allShards() {
		if !sh.help(helpCommands / max(1, waiting)) {
			sh.wake()
		}
	}
}

// help applies what has become safe, if that is quick: little, of kinds that do little, and without anybody to wait for. Otherwise, and if it is false, wake is to be called. It is for the goroutine that writes the log.
func (sh *shard) help(most int) bool {
	batch := sh.takeLittle(sh.helper.batch[:0], most)
	if len(batch) == 0 {
		return false
	}
	sh.helper.batch = batch
	left, asked := sh.helper.apply(batch, nil)
	sh.giveBack(left)
	sh.rest(asked)
	clear(batch)
	return true
}

// takeLittle is take for help: it does not wait, and returns nothing if there is too much to do, or what may take long.
func (sh *shard) takeLittle(out []entry, most int) []entry {
	if n := sh.waiting.Load(); n == 0 || n > int64(most) {
		return nil
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.asking > 0 {
		sh.asking--
		return nil
	}
	if sh.busy || sh.failure != nil || sh.written {
		return nil
	}
	n := sh.ripe()
	for i := sh.head; i < n; i++ {
		if !sh.queue[i].quick() {
			return nil
		}
	}
	if n == sh.head {
		return nil
	}
	return sh.move(out, n)
}

// quick reports whether nobody has to be waited for to apply it, as far as can be told.
func (e *entry) quick() bool {
	switch c := e.at(0).(type) {
	case *command.Publish:
	case *command.Deliver:
		if len(c.Messages) > helpMany {
			return false
		}
	case *command.Ack:
		if len(c.Replies) > helpMany {
			return false
		}
	default:
		return false
	}
	t := e.stream
	if t.syncing.always.Load() || !t.mu.TryLock() {
		return false
	}
	t.mu.Unlock()
	return true
}
