package own

import (
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

const (
	// lookMost is how many messages one call looks at.
	lookMost = 10000
	// readMost and readBytes bound what is read at once.
	readMost, readBytes = 512, 1 << 20
)

// Look calls yield for messages of the call's stream that a filter matches, from a sequence on, until it returns false or enough were
// looked at. It returns where to go on, 0 at the end. No lock is held meanwhile, and one call takes a bounded time however large the
// stream is: who wants more asks again.
func (c *Call) Look(from uint64, filter jetlog.Filter, yield func(*jetlog.Message) bool) (next uint64, err error) {
	next, looked := max(from, 1), 0
	for looked < lookMost {
		more, before := true, looked
		next, err = c.Stream.Log.Read(next, filter, readMost, readBytes, func(m *jetlog.Message) bool {
			looked++
			more = yield(m)
			return more
		})
		switch {
		case err != nil:
			return 0, err
		case looked == before:
			return 0, nil
		case !more || c.Context.Err() != nil:
			return next, nil
		}
	}
	return next, nil
}

// Remove deletes messages of the call's stream, and returns how many were there. The commands are under way at the same time, so that
// they share the syncs of the log; each stands alone, and an error leaves the others done.
func (c *Call) Remove(list []uint64) (n int, err error) {
	type outcome struct {
		result jetlog.Result
		err    error
	}
	done, started := make(chan outcome, len(list)), 0
	for _, seq := range list {
		d := &command.Delete{Time: c.Now.UnixNano(), Sequence: seq}
		if err = c.Stream.Log.Start(c.Context, d, func(r jetlog.Result, err error) { done <- outcome{r, err} }); err != nil {
			break
		}
		started++
	}
	for range started {
		select {
		case o := <-done:
			switch {
			case o.err != nil:
				err = o.err
			case o.result.Code == 0:
				n++
			case o.result.Code != config.SequenceNotFound: // otherwise somebody else was faster
				err = api.NewError(o.result.Code, o.result.Detail)
			}
		case <-c.Context.Done():
			return n, c.Context.Err()
		}
	}
	if n > 0 {
		c.Stream.Deliver.Changed()
	}
	return n, err
}
