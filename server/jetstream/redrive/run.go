package redrive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/chore"
	"runnel/server/jetstream/handover"
)

const (
	// atOnce is how many letters are put back together, and atOnceBytes about how large they may be.
	atOnce      = 512
	atOnceBytes = 1 << 20
	// lookMost is how many messages one step looks at.
	lookMost = 10000
	// putTime bounds one attempt.
	putTime = 10 * time.Second
	// The pauses after an attempt that was in vain.
	pauseLeast = 20 * time.Millisecond
	pauseMost  = 2 * time.Second
	// perSecond is into how many parts a second is divided where letters are put back at a rate.
	perSecond = 10
)

// runner is what the goroutine knows of the job besides.
type runner struct {
	s      *Stream
	opened bool // it was looked whether there is a job of before
	// unsure is set while letters behind the place of the job may be in their streams already, resumed as long as somebody else may
	// have put them there.
	unsure, resumed bool
	// unwritten is set when letters were left behind that are not written down yet.
	unwritten bool
	next      time.Time // by the rate
	pause     time.Duration
	told      string // why it does not go on, as it was last logged
}

var (
	// errGone tells that the job was taken away.
	errGone = errors.New("the redrive was taken away")
	// errStuck tells that what is put back cannot be deleted.
	errStuck = errors.New("letters that are put back cannot be deleted")
)

// step puts some letters back.
func (r *runner) step(*chore.Chore) time.Duration {
	if err := r.open(); err != nil {
		return r.trouble(nil, err)
	}
	j, stop := r.s.current()
	if j == nil {
		r.unsure, r.resumed, r.unwritten, r.next = false, false, false, time.Time{}
		return -1
	}
	if stop && !r.unsure {
		return r.end(j, true)
	}
	if wait := time.Until(r.next); wait > 0 && !stop {
		return wait
	}
	list, seen, err := r.letters(j)
	switch {
	case err != nil:
		return r.trouble(j, err)
	case len(list) == 0 && seen < r.limit(j): // there may be more
		j.At = seen
		r.s.note(j)
		return 0
	case len(list) == 0 && j.At < j.Intent:
		j.At, r.unsure, r.resumed = j.Intent, false, false
		r.s.note(j)
		return 0
	case len(list) == 0:
		return r.end(j, false)
	}
	err = r.back(j, list)
	r.s.note(j)
	if err != nil {
		return r.trouble(j, err)
	}
	r.pause, r.told = 0, ""
	r.s.waits("")
	return 0
}

// open takes up the job that is written down.
func (r *runner) open() error {
	if r.opened {
		return nil
	}
	j, err := readJob(r.s.cfg.Log)
	if err != nil {
		return err
	}
	r.opened = true
	if j != nil {
		r.resumed = j.At < j.Intent
		r.unsure = r.resumed
		r.s.take(j)
	}
	return nil
}

// limit is up to where letters may be put back now.
func (r *runner) limit(j *job) uint64 {
	if j.At < j.Intent {
		return j.Intent
	}
	return j.Last
}

// letter is a dead letter that is put back.
type letter struct {
	sequence uint64
	stream   string
	message  handover.Message
	err      error // why it cannot be
}

// letters returns the next ones, in order, and up to which sequence it has looked.
func (r *runner) letters(j *job) (list []letter, seen uint64, err error) {
	most, bytes, looked, limit := atOnce, 0, 0, r.limit(j)
	if j.Rate > 0 {
		most = min(most, max(j.Rate/perSecond, 1))
	}
	for seen = j.At; len(list) < most && seen < limit && looked < lookMost && bytes < atOnceBytes; {
		before := looked
		next, err := r.s.cfg.Log.Read(seen+1, nil, atOnce, atOnceBytes, func(m *jetlog.Message) bool {
			if m.Sequence > limit {
				return false
			}
			looked++
			if seen = m.Sequence; !j.means(m) {
				return true
			}
			l := letter{sequence: m.Sequence}
			l.stream, l.message, l.err = Back(m, j.To)
			l.message.Producer, l.message.Number = fmt.Sprint("redrive.", r.s.cfg.Log.ID()), j.number(m.Sequence)
			bytes += len(l.message.Header) + len(l.message.Payload)
			list = append(list, l)
			return len(list) < most && bytes < atOnceBytes
		})
		if err != nil {
			return nil, seen, err
		}
		if looked == before || next > limit {
			if len(list) < most && bytes < atOnceBytes {
				seen = limit // nothing is left
			}
			break
		}
	}
	return list, seen, nil
}

// back puts letters back, as many as go to the same stream, and deletes them.
func (r *runner) back(j *job, list []letter) error {
	if list[0].err != nil {
		r.leave(j, list[0].sequence, 1, list[0].err.Error())
		return nil
	}
	n := 1
	for n < len(list) && list[n].err == nil && list[n].stream == list[0].stream {
		n++
	}
	if err := r.intend(j, list[len(list)-1].sequence); err != nil {
		return err
	}
	done, refusal, err := r.put(list[:n])
	if done > 0 {
		removed := r.remove(list[:done])
		if removed != nil && !errors.Is(removed, errStuck) {
			return removed
		}
		j.At, j.Done = list[done-1].sequence, j.Done+uint64(done)
		if removed != nil {
			return removed
		}
		if j.Rate > 0 {
			r.next = time.Now().Add(time.Duration(done) * time.Second / time.Duration(j.Rate))
		}
	}
	if err != nil {
		return err
	}
	r.resumed = r.resumed && refusal == nil && j.At < j.Intent
	r.unsure = r.resumed
	switch {
	case refusal == nil:
		return nil
	case passes(refusal):
		return fmt.Errorf("stream %q does not take letter %d: %w", list[0].stream, list[done].sequence, refusal)
	case refusal.ErrCode == int(api.StreamNotFound):
		r.leave(j, list[n-1].sequence, uint64(n-done), fmt.Sprintf("there is no stream %s any more: put them back by hand, or discard them", list[0].stream))
	case refusal.ErrCode == int(api.RedriveUnwanted):
		last := done + r.unwanted(list[done+1:n])
		r.leave(j, list[last].sequence, uint64(last-done+1), refusal.Error())
	default:
		r.leave(j, list[done].sequence, 1, fmt.Sprintf("letter %d: %v", list[done].sequence, refusal))
	}
	return nil
}

// unwanted returns how many letters, from the first one on, are refused as that before them: a consumer that has gone has mostly left
// many, and each by itself would be a question and a write.
func (r *runner) unwanted(list []letter) (n int) {
	if len(list) == 0 {
		return 0
	}
	asked := make([]handover.Message, len(list))
	for i := range list {
		asked[i] = list[i].message
		asked[i].Number = 0 // it is asked, and not put
	}
	ctx, cancel := context.WithTimeout(r.s.chore.Context(), putTime)
	defer cancel()
	outcomes, err := r.s.cfg.Put(ctx, r.s.cfg.Account, list[0].stream, asked)
	for err == nil && n < len(outcomes) && outcomes[n].Refusal != nil && outcomes[n].Refusal.ErrCode == int(api.RedriveUnwanted) {
		n++
	}
	return n
}

// leave leaves letters where they are that cannot be put back.
func (r *runner) leave(j *job, upTo, letters uint64, why string) {
	j.fail(upTo, letters, why)
	r.unwritten = true
}

// passes reports whether a refusal is for the time being: there is no room, say, and there may be.
func passes(refusal *api.Error) bool {
	return refusal.Code == 429 || refusal.Code >= 500 || refusal.ErrCode == int(api.AccountExceeded)
}

// intend writes down that letters up to a sequence may be put from now on, and what was left behind before.
func (r *runner) intend(j *job, upTo uint64) error {
	if upTo <= j.Intent && !r.unwritten {
		return nil
	}
	next := *j
	next.Intent = max(j.Intent, upTo)
	c, err := next.write(command.UpdateOnly, r.s.cfg.Now())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.s.chore.Context(), putTime)
	defer cancel()
	switch result, err := r.s.cfg.Log.Propose(ctx, c); {
	case err != nil:
		return fmt.Errorf("write down how far it is: %w", err)
	case result.Code == config.ConsumerMissing:
		return errGone
	case result.Code != 0:
		return fmt.Errorf("write down how far it is: %w", api.NewError(result.Code, result.Detail))
	}
	j.Intent, r.unwritten = next.Intent, false
	return nil
}

// put puts letters into the stream that they come from. It returns how many of them, from the first one on, are there, and why the
// next one is not. With an error that is not known.
func (r *runner) put(list []letter) (done int, refusal *api.Error, err error) {
	messages := make([]handover.Message, len(list))
	for i := range list {
		messages[i] = list[i].message
	}
	ctx, cancel := context.WithTimeout(r.s.chore.Context(), putTime)
	defer cancel()
	r.unsure = true
	outcomes, err := r.s.cfg.Put(ctx, r.s.cfg.Account, list[0].stream, messages)
	if err != nil {
		if !errors.Is(err, handover.ErrUnknown) && errors.As(err, &refusal) {
			return 0, refusal, nil
		}
		return 0, nil, fmt.Errorf("stream %q cannot be reached: %w", list[0].stream, err)
	}
	for done < len(outcomes) && outcomes[done].Refusal == nil {
		done++
	}
	if done < len(outcomes) {
		refusal = outcomes[done].Refusal
	}
	return done, refusal, nil
}

// remove deletes letters that were put back. One that is gone already is as good.
func (r *runner) remove(list []letter) error {
	type outcome struct {
		result jetlog.Result
		err    error
	}
	ctx, cancel := context.WithTimeout(r.s.chore.Context(), putTime)
	defer cancel()
	defer r.s.cfg.Changed()
	done := make(chan outcome, len(list))
	for i := range list {
		d := &command.Delete{Time: r.s.cfg.Now(), Sequence: list[i].sequence}
		if err := r.s.cfg.Log.Start(ctx, d, func(result jetlog.Result, err error) { done <- outcome{result, err} }); err != nil {
			return fmt.Errorf("delete letter %d, which is put back: %w", list[i].sequence, err)
		}
	}
	for range list {
		select {
		case o := <-done:
			switch {
			case o.err != nil:
				return fmt.Errorf("delete letters that are put back: %w", o.err)
			case o.result.Code != 0 && o.result.Code != config.SequenceNotFound:
				return fmt.Errorf("%w: %w", errStuck, api.NewError(o.result.Code, o.result.Detail))
			}
		case <-ctx.Done():
			return fmt.Errorf("delete letters that are put back: %w", ctx.Err())
		}
	}
	return nil
}

// trouble notes why it does not go on for now, and returns when it is tried again.
func (r *runner) trouble(j *job, err error) time.Duration {
	switch {
	case r.s.chore.Context().Err() != nil:
		return -1
	case errors.Is(err, errGone):
		r.s.finish(j, true)
		return 0
	case errors.Is(err, errStuck):
		j.Error = cut(err.Error())
		return r.end(j, true)
	}
	r.pause = min(max(2*r.pause, pauseLeast), pauseMost)
	if text := err.Error(); r.told != text {
		r.told = text
		r.s.waits(cut(text))
		r.s.cfg.Logger.Warn("dead letters cannot be put back; trying again", "account", r.s.cfg.Account, "stream", r.s.cfg.Log.Name(), "error", err)
	}
	return r.pause
}

// end ends the job, once the time of the stream is behind all its numbers.
func (r *runner) end(j *job, stopped bool) time.Duration {
	now := r.s.cfg.Now()
	if last := j.number(j.Last); uint64(now) <= last {
		return time.Duration(last - uint64(now) + 1)
	}
	ctx, cancel := context.WithTimeout(r.s.chore.Context(), putTime)
	defer cancel()
	if _, err := r.s.cfg.Log.Propose(ctx, &command.ConsumerDelete{Time: now, Consumer: config.RedriveConsumer}); err != nil {
		return r.trouble(j, fmt.Errorf("end the redrive: %w", err))
	}
	r.s.finish(j, stopped)
	return 0
}
