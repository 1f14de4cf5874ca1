package explain

import (
	"fmt"
	"strings"
	"time"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
)

// Explain puts the facts into sentences.
func (f *Facts) Explain() *api.Explanation {
	e := &api.Explanation{Stream: f.Stream.Name, Consumer: f.Consumer.Name, Time: f.Now}
	if f.Live.Stalled != "" {
		e.Reasons = append(e.Reasons, f.stalled())
	} else {
		e.Delivers = true
		e.Reasons = append(e.Reasons, f.flowing())
	}
	if f.Oldest.Sequence != 0 && f.Deliveries == 0 {
		e.Reasons = append(e.Reasons, f.exhausted())
	}
	return e
}

// stalled says what stands in the way.
func (f *Facts) stalled() api.Reason {
	r := api.Reason{Code: string(f.Live.Stalled)}
	if !f.Live.StalledUntil.IsZero() {
		until := f.Live.StalledUntil.UTC()
		r.Until = &until
	}
	if say, known := stalls()[f.Live.Stalled]; known {
		r.Text, r.Next = say(f)
	} else {
		r.Text = fmt.Sprintf("The consumer is held up: %s.", f.Live.Stalled)
	}
	return r
}

// stalls has for each stall the sentence about it, and what to do. A sentence says what is the case, with the figures and names
// that the reader can look up, and not which rule of the server it follows from. What to do is something that can be done
// now: a command to copy, or the place to look at.
func stalls() map[delivery.Stall]func(*Facts) (text, next string) {
	return map[delivery.Stall]func(*Facts) (string, string){
		delivery.Paused:        (*Facts).paused,
		delivery.MaxAckPending: (*Facts).full,
		delivery.NoRequests:    (*Facts).unasked,
		delivery.NoInterest:    (*Facts).unheard,
		delivery.RateLimit:     (*Facts).limited,
		delivery.FlowControl:   (*Facts).uncontrolled,
		delivery.Replaying:     (*Facts).replaying,
		delivery.Backoff:       (*Facts).waiting,
		delivery.DeadLetter:    (*Facts).undead,
		delivery.SlowClient:    (*Facts).slow,
		delivery.KeysBusy:      (*Facts).behindKeys,
		delivery.Storage:       (*Facts).unwritable,
	}
}

// paused: an operator has said so, or the configuration.
func (f *Facts) paused() (text, next string) {
	return fmt.Sprintf("The consumer is paused%s.", f.until()), "To let it go on now: " + f.command("resume") + "."
}

// undead: nothing is lost, but what is behind has to wait, and it takes room in the stream that limits do not count.
func (f *Facts) undead() (text, next string) {
	text = fmt.Sprintf("%s for the dead-letter stream.", count(uint64(f.Live.Letters), "message that was given up waits", "messages that were given up wait"))
	if f.Live.Detail == "" {
		return text + " New ones are delivered when these are handed over.", "Wait, or look whether the dead-letter stream keeps up."
	}
	return text + " Nothing is lost, but they cannot be handed over: " + f.Live.Detail + ".",
		"Mend what that says: make room in the stream, create it, or name another one in runnel.dead_letter. They are handed over by themselves then, within seconds."
}

// full: that all places are taken is nearly always workers who do not acknowledge, which the age of the oldest delivery shows. A
// higher limit helps only if they do.
func (f *Facts) full() (text, next string) {
	text = fmt.Sprintf("%s for an answer, and max_ack_pending allows no more.", count(uint64(f.Live.Lag.Unacked-f.Resting), "delivery waits", "deliveries wait"))
	if f.Oldest.Sequence != 0 && f.Deliveries > 0 {
		text += fmt.Sprintf(" The oldest is message %d on %s, delivered %s and stored %s ago.",
			f.Oldest.Sequence, f.Oldest.Subject, times(f.Deliveries), f.age(f.Oldest.Time))
	}
	next = "Look whether the workers acknowledge what they process. If they have died, their messages come again" + f.afterWait() +
		". If they are well but slow, there may be more of them, or " + f.command("edit") + " --max-pending allows more deliveries."
	return text, next
}

// unasked: workers have gone, or are busy with what they have and do not fetch ahead.
func (f *Facts) unasked() (text, next string) {
	l := &f.Live.Lag
	n := l.Undelivered
	if n == 0 {
		n = l.Messages // which come again
	}
	return fmt.Sprintf("%s, and nobody asks for them: there is no pull request.", count(n, "message waits", "messages wait")),
		"Start a worker, or look whether those that run still fetch. To take one message by hand: " + f.command("next") + "."
}

// unheard: the subscriber has gone, or listens elsewhere.
func (f *Facts) unheard() (text, next string) {
	text = fmt.Sprintf("Nobody subscribes to %s, where this push consumer delivers.", f.Consumer.DeliverSubject)
	if f.Consumer.DeliverGroup != "" {
		text = fmt.Sprintf("Nobody subscribes to %s as a member of the queue group %s, where this push consumer delivers.",
			f.Consumer.DeliverSubject, f.Consumer.DeliverGroup)
	}
	return text, "Start the subscriber, in the same account. If it runs, compare its subject and queue group with these, letter by letter."
}

// limited: as it was asked for.
func (f *Facts) limited() (text, next string) {
	return fmt.Sprintf("The consumer's limit of %d bits a second is used up for now.", f.Consumer.RateLimit),
		"If the subscriber can take more, make the consumer anew with a higher rate_limit_bps, or with none."
}

// uncontrolled: the window of flow control is used up.
func (f *Facts) uncontrolled() (text, next string) {
	return "The subscriber has not answered flow control: it is not through yet with what it was sent.",
		"Look whether the client hangs, or is slow. One that does not know flow control must not ask for it."
}

// replaying: as it was asked for, too.
func (f *Facts) replaying() (text, next string) {
	return fmt.Sprintf("The consumer replays messages as far apart as they were stored (replay_policy original), and waits%s.", f.until()), ""
}

// waiting: workers have everything, or it rests between two attempts.
func (f *Facts) waiting() (text, next string) {
	text = fmt.Sprintf("Nothing is left to be delivered for the first time, and %s for an answer", count(uint64(f.Live.Lag.Unacked), "message waits", "messages wait"))
	if f.Resting > 0 {
		text += fmt.Sprintf("; %d of them failed and come again after a pause", f.Resting)
	}
	if !f.Live.StalledUntil.IsZero() {
		text += fmt.Sprintf(". The first one comes again at %s (%s from now) if it is not acknowledged before",
			f.Live.StalledUntil.UTC().Format(time.RFC3339), round(f.Live.StalledUntil.Sub(f.Now)))
	}
	return text + ".", "Look whether the workers are still at it. What they have given up comes again by itself."
}

// slow: the connection is behind, and would be cut if more were sent.
func (f *Facts) slow() (text, next string) {
	return "The client does not take what it was sent: too much waits on its connection.",
		"Look whether the client hangs, or its network is slow; /connz?sort=pending shows the connection."
}

// behindKeys: of each key one message is out at most. Workers who do not answer hold up the keys of theirs, and one that has failed
// for good may hold up its own for ever.
func (f *Facts) behindKeys() (text, next string) {
	return fmt.Sprintf("What is left waits for other messages of the same keys, of which %s out.", count(uint64(f.Live.Lag.Unacked), "is", "are")),
		fmt.Sprintf("To see which keys have a message out, and what is blocked: runnel key %s %s.", f.Stream.Name, f.Consumer.Name)
}

// unwritable: the consumer's deliveries cannot be written down, or its messages not be read.
func (f *Facts) unwritable() (text, next string) {
	return "The server cannot write the consumer's state, or not read its messages.",
		"Look at the server's log and at /healthz: the disk may be full or damaged, or too few servers of the stream can be reached."
}

// flowing says why nothing is delivered although nothing stands in the way, or that something is.
func (f *Facts) flowing() api.Reason {
	l := &f.Live.Lag
	switch {
	case l.Messages > 0:
		text := fmt.Sprintf("Messages are delivered as they are asked for: %d wait to be delivered, and %d for an answer.", l.Undelivered, l.Unacked)
		if l.Served > 0 {
			text += fmt.Sprintf(" Lately %.3g were processed each second.", l.Served)
		}
		return api.Reason{Code: api.ReasonDelivers, Text: text}
	case f.impossible():
		return api.Reason{
			Code: api.ReasonNoSubject,
			Text: fmt.Sprintf("The consumer filters by %s, and the stream takes only %s: no message can ever match.", list(filtersOf(&f.Consumer)), list(f.Stream.Subjects)),
			Next: "Correct the filter: " + f.command("edit") + " --filter SUBJECT.",
		}
	case f.Messages == 0:
		return api.Reason{Code: api.ReasonEmptyStream, Text: "There is nothing to deliver: the stream has no messages.", Next: f.publish()}
	case !f.Matching:
		return api.Reason{
			Code: api.ReasonNoMatch,
			Text: fmt.Sprintf("None of the stream's messages, of which there are %d, matches the filter %s.", f.Messages, list(filtersOf(&f.Consumer))),
			Next: fmt.Sprintf("Look which subjects there are: nats stream subjects %s.", f.Stream.Name),
		}
	case f.Consumer.Metadata[config.MetadataFilter] != "" && !f.Ever:
		return api.Reason{
			Code: api.ReasonNoMatch,
			Text: "There is nothing to deliver: so far the content filter (runnel.filter) wants no message of the stream.",
			Next: fmt.Sprintf("Compare it with a message: nats stream get %s --last-for=SUBJECT. What is not JSON matches no filter over the body.", f.Stream.Name),
		}
	case !f.Ever:
		return api.Reason{
			Code: api.ReasonCaughtUp,
			Text: "There is nothing to deliver: all that matches in the stream is older than where the consumer begins" + f.begins() + ".",
			Next: "To have older messages, make a consumer with another deliver policy.",
		}
	}
	return api.Reason{Code: api.ReasonCaughtUp, Text: "There is nothing to deliver: the consumer is through with all messages."}
}

// exhausted says that there are messages which were delivered as often as allowed, or were refused and block what is behind them.
func (f *Facts) exhausted() api.Reason {
	if f.Consumer.Metadata[config.MetadataKeyFailed] == "block" {
		return api.Reason{
			Code: api.ReasonExhausted,
			Text: fmt.Sprintf("Message %d on %s, and perhaps others, failed for good, and what is behind them of the same keys waits for them (runnel.key_failed is block).",
				f.Oldest.Sequence, f.Oldest.Subject),
			Next: fmt.Sprintf("To see which keys are blocked: runnel key %s %s. Once such a message is dealt with, --settle %d lets its key go on.",
				f.Stream.Name, f.Consumer.Name, f.Oldest.Sequence),
		}
	}
	return api.Reason{
		Code: api.ReasonExhausted,
		Text: fmt.Sprintf("Message %d on %s, and perhaps others, were delivered as often as allowed (max_deliver, or runnel.retry), and are not delivered again.",
			f.Oldest.Sequence, f.Oldest.Subject),
		Next: fmt.Sprintf("Look at it: nats stream get %s %d. With runnel.dead_letter such messages would go to a stream of their own.", f.Stream.Name, f.Oldest.Sequence),
	}
}

// command is a call of the nats command line for the consumer.
func (f *Facts) command(verb string) string {
	return fmt.Sprintf("nats consumer %s %s %s", verb, f.Stream.Name, f.Consumer.Name)
}

// publish tells where messages would come from.
func (f *Facts) publish() string {
	if len(f.Stream.Subjects) == 0 {
		return ""
	}
	return fmt.Sprintf("Publish to one of its subjects (%s). If something does already, look what the stream answers to it: a publish that waits for no answer does not hear of a refusal.", list(f.Stream.Subjects))
}

// begins names the deliver policy, where it is another than that for all messages.
func (f *Facts) begins() string {
	switch c := &f.Consumer; c.Deliver {
	case config.DeliverNew:
		return " (deliver_policy new)"
	case config.DeliverByStartSequence:
		return fmt.Sprintf(" (message %d)", c.StartSequence)
	case config.DeliverByStartTime:
		return fmt.Sprintf(" (%s)", c.StartTime.UTC().Format(time.RFC3339))
	}
	return ""
}

// afterWait says when messages come again that nobody acknowledges.
func (f *Facts) afterWait() string {
	if len(f.Consumer.Backoff) > 0 {
		return " by the consumer's backoff"
	}
	if f.Consumer.AckWait > 0 {
		return fmt.Sprintf(" after ack_wait (%v)", f.Consumer.AckWait)
	}
	return ""
}

// until says when what stands in the way ends.
func (f *Facts) until() string {
	t := f.Live.StalledUntil
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf(" until %s (%s from now)", t.UTC().Format(time.RFC3339), round(t.Sub(f.Now)))
}

// age is how long ago a time of the state was.
func (f *Facts) age(at int64) string { return round(f.Now.Sub(time.Unix(0, at))) }

// round is a duration as people say it.
func round(d time.Duration) string {
	d = max(d, 0)
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// count is a number with what there is of it.
func count(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// times says how often something was.
func times(n uint64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// listed is how many names a sentence has at most.
const listed = 3

// list names some of many things.
func list(names []string) string {
	if len(names) <= listed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:listed], ", "), len(names)-listed)
}
