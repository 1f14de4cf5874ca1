package jetlog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/due"
	"runnel/jetlog/producers"
)

// epoch is the time at which every stream of a scenario begins: 00:16:40.
const epoch = 1000 * int64(time.Second)

var update = flag.Bool("update", false, "write what scenarios print into their files")

// TestScenarios runs the text files of testdata/scenarios: commands, a line `----`, and what they
// print, up to an empty line. Lines with # are comments. After every command the stream is checked,
// and a second replica that got the encoded command has the same result, hash and snapshot.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScenario(t, &world{t: t}, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("%s: got\n%s\nwant\n%s", file, got, text)
			}
		})
	}
}

// TestScenariosRestored runs the scenarios with both replicas restored from snapshots after every
// command: they go on as they would have.
func TestScenariosRestored(t *testing.T) {
	everyScenario(t, func(t *testing.T) *world { return &world{t: t, restored: true} })
}

// TestScenariosUnread runs the scenarios with a body of which, for every command, first the first read
// fails, then the second, and so on: until the command needs no more, nothing changes.
func TestScenariosUnread(t *testing.T) {
	failed := 0
	everyScenario(t, func(t *testing.T) *world { return &world{t: t, failed: &failed} })
	if failed < 300 {
		t.Errorf("%d reads have failed, want more", failed)
	}
}

// everyScenario runs all scenarios in a world, where they print what is in their files.
func everyScenario(t *testing.T, in func(*testing.T) *world) {
	t.Helper()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := runScenario(t, in(t), string(text)); got != string(text) {
				t.Errorf("%s: got\n%s\nwant\n%s", file, got, text)
			}
		})
	}
}

// runScenario returns the text with what the commands print now.
func runScenario(t *testing.T, w *world, text string) string {
	t.Helper()
	var out strings.Builder
	var printed []string
	expected := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "----":
			expected = true
			out.WriteString("----\n")
			for _, p := range printed {
				out.WriteString(p + "\n")
			}
			printed = nil
		case expected && line != "":
		default:
			expected = false
			out.WriteString(line + "\n")
			if line != "" && !strings.HasPrefix(line, "#") {
				printed = append(printed, w.run(line)...)
			}
		}
	}
	return out.String()
}

// world is a stream with a body in memory, and a second replica.
type world struct {
	t      *testing.T
	clock  int64
	stream *jetlog.Stream
	body   *jetlog.Memory
	twin   *jetlog.Stream
	other  *jetlog.Memory
	// quiet leaves out the comparison within a repeat.
	quiet bool
	// restored replaces both replicas by restored ones after every command.
	restored bool
	// failed counts the reads that failed, in a world in which they do.
	failed *int
}

// run carries out a line and returns what it prints.
func (w *world) run(line string) []string {
	w.t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	args := strings.Fields(rest)
	switch verb {
	case "stream":
		return w.create(rest)
	case "sleep":
		d, err := time.ParseDuration(args[0])
		w.must(err)
		w.clock += int64(d)
		return nil
	case "repeat":
		n, _, _ := strings.Cut(rest, " ")
		_, inner, _ := strings.Cut(rest, " ")
		w.quiet = true
		for range number(n) {
			w.run(inner)
		}
		w.quiet = false
		w.compare(nil)
		return nil
	case "state":
		return w.state()
	case "messages":
		return w.messages()
	case "removed":
		return w.removed()
	case "due":
		return w.due()
	case "schedules":
		return w.schedules()
	case "fire":
		return w.fire()
	case "show":
		return []string{w.show(args[0])}
	case "fetch":
		return w.fetch(args)
	case "snapshot":
		return w.snapshot()
	}
	c, err := w.parse(verb, rest, args)
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	return []string{w.describe(w.apply(c))}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(text string) []string {
	var cfg config.Stream
	w.must(strict(text, &cfg))
	if cfg.Name == "" {
		cfg.Name = "S"
	}
	w.clock = epoch
	cfg, err := cfg.Normalized(config.Limits{}, false)
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	w.stream, w.body = jetlog.New(7, cfg, w.clock), jetlog.NewMemory()
	w.twin, w.other = jetlog.New(7, cfg, w.clock), jetlog.NewMemory()
	return []string{"ok"}
}

func strict(text string, value any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(value)
}

func number(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// parse returns the command of a line.
func (w *world) parse(verb, rest string, args []string) (command.Command, error) {
	named := map[string]string{}
	for _, a := range args {
		if name, value, ok := strings.Cut(a, "="); ok {
			named[name] = value
		}
	}
	num := func(name string) uint64 {
		n, _ := strconv.ParseUint(named[name], 10, 64)
		return n
	}
	switch verb {
	case "pub":
		return w.publish(args), nil
	case "continue":
		return &command.Continue{Time: w.clock}, nil
	case "batch":
		return w.batch(rest), nil
	case "copy":
		return w.copied(rest, num("from"), num("through")), nil
	case "delete":
		return &command.Delete{Time: w.clock, Sequence: number(args[0])}, nil
	case "purge":
		return &command.Purge{Time: w.clock, Filter: named["filter"], Sequence: num("seq"), Keep: num("keep")}, nil
	case "expire":
		return &command.Expire{Time: w.clock, Max: num("max")}, nil
	case "config":
		cfg := *w.stream.Config()
		w.must(strict(rest, &cfg))
		cfg, err := cfg.Normalized(config.Limits{}, false)
		return &command.Configure{Time: w.clock, Config: cfg}, err
	case "consumer", "create", "change":
		name, text, _ := strings.Cut(rest, " ")
		cfg := config.Consumer{Durable: name, Ack: config.AckExplicit}
		w.must(strict(text, &cfg))
		cfg, err := cfg.Normalized(w.stream.Config(), config.Limits{}, false)
		action := map[string]command.Action{"create": command.CreateOnly, "change": command.UpdateOnly}[verb]
		return &command.ConsumerCreate{Time: w.clock, Action: action, Max: 3, Config: cfg}, err
	case "remove":
		return &command.ConsumerDelete{Time: w.clock, Consumer: args[0]}, nil
	case "ack", "nak", "term", "progress":
		return w.answer(verb, args, named["delay"]), nil
	case "deadlines":
		return &command.AckDeadline{Time: w.clock}, nil
	case "pause":
		d, err := time.ParseDuration(args[1])
		return &command.Pause{Time: w.clock, Consumer: args[0], Until: w.clock + int64(d)}, err
	case "reset":
		return &command.Reset{Time: w.clock, Consumer: args[0], Sequence: num("seq")}, nil
	case "forget", "set": // name@number@sequence ...
		c := &command.Producers{Time: w.clock}
		for _, a := range args {
			parts := strings.Split(a, "@")
			p := command.Producer{Name: parts[0], Mark: producers.Mark{Number: number(parts[1]), Sequence: number(parts[2])}}
			if verb == "set" {
				c.Set = append(c.Set, p)
			} else {
				c.Forget = append(c.Forget, p)
			}
		}
		return c, nil
	case "pin":
		return &command.Pin{Time: w.clock, Consumer: args[0], Group: args[1], ID: named["id"]}, nil
	}
	return nil, errors.New("unknown command " + verb)
}

// batch returns the command for publishes with a bar between.
func (w *world) batch(text string) command.Command {
	c := &command.Batch{Time: w.clock}
	for part := range strings.SplitSeq(text, "|") {
		if args := strings.Fields(part); len(args) > 0 {
			c.Members = append(c.Members, *w.publish(args).(*command.Publish))
		}
	}
	return c
}

// copied returns the command for publishes with a bar between, in front of each its sequence and how
// long before now its time is: 7@3s.
func (w *world) copied(text string, from, through uint64) command.Command {
	c := &command.Copy{Time: w.clock, From: from, Through: through}
	for part := range strings.SplitSeq(text, "|") {
		args := slices.DeleteFunc(strings.Fields(part), func(a string) bool { return strings.Contains(a, "=") })
		if len(args) == 0 {
			continue
		}
		seq, ago, _ := strings.Cut(args[0], "@")
		before, err := time.ParseDuration(ago)
		w.must(err)
		p := w.publish(args[1:]).(*command.Publish)
		c.Messages = append(c.Messages, command.Copied{
			Sequence: number(seq), Time: w.clock - int64(before), Subject: p.Subject, Header: p.Header, Payload: p.Payload, Fire: p.Fire,
		})
	}
	return c
}

// publish returns the command for: subject payload Name:Value ...
func (w *world) publish(args []string) command.Command {
	c := &command.Publish{Time: w.clock, Subject: args[0]}
	for _, a := range args[1:] {
		name, value, isHeader := strings.Cut(a, ":")
		switch {
		case strings.HasPrefix(a, "{"):
			c.Payload = []byte(a)
		case !isHeader && strings.HasPrefix(a, "size="):
			c.Payload = bytes.Repeat([]byte("x"), int(number(a[5:])))
		case !isHeader && a == "internal":
			c.Internal = true
		case !isHeader:
			c.Payload = []byte(a)
		default: // blanks in a value are written as underlines
			c.Header = headers.Add(c.Header, name, strings.ReplaceAll(value, "_", " "))
		}
	}
	c.Fire = due.FirstFire(c.Header, w.clock)
	return c
}

func (w *world) answer(verb string, args []string, delay string) command.Command {
	c := &command.Ack{Time: w.clock, Consumer: args[0]}
	answers := map[string]command.Answer{
		"ack": command.Done, "nak": command.Nak, "term": command.Terminate, "progress": command.Progress,
	}
	for _, a := range args[1:] {
		if strings.Contains(a, "=") {
			continue
		}
		reply := command.Reply{Answer: answers[verb], Sequence: number(a)}
		if delay != "" {
			d, err := time.ParseDuration(delay)
			w.must(err)
			reply.Delay = d
		}
		c.Replies = append(c.Replies, reply)
	}
	return c
}

// apply gives a command to both replicas, in the encoded form to the second, and compares them.
func (w *world) apply(c command.Command) jetlog.Result {
	w.t.Helper()
	encoded := command.Append(nil, c)
	w.unread(c)
	r, err := w.stream.Apply(c, w.body)
	w.must(err)
	decoded, err := command.Decode(encoded)
	w.must(err)
	other, err := w.twin.Apply(decoded, w.other)
	w.must(err)
	if !reflect.DeepEqual(other, r) {
		w.t.Fatalf("%#v: the second replica says %+v, the first %+v", c, other, r)
	}
	w.compare(c)
	return r
}

// readsMax is how many reads of a command fail, one after the other, in a world in which they do.
const readsMax = 40

// unread applies a command to a stream like the first whose body fails at a read, at each in turn.
func (w *world) unread(c command.Command) {
	w.t.Helper()
	if w.failed == nil || w.quiet {
		return
	}
	form, body := w.stream.AppendSnapshot(nil), w.body.AppendSnapshot(nil)
	s, m := w.restore()
	for n := range readsMax {
		_, err := s.Apply(c, &failing{Memory: m, left: n})
		if err == nil {
			return
		}
		*w.failed++
		if !errors.Is(err, errRead) {
			w.t.Fatalf("%#v: read %d fails: got %v", c, n, err)
		}
		if !bytes.Equal(s.AppendSnapshot(nil), form) || !bytes.Equal(m.AppendSnapshot(nil), body) {
			w.t.Fatalf("%#v: read %d fails: something has changed", c, n)
		}
	}
}

// compare checks both replicas and that they are the same.
func (w *world) compare(c command.Command) {
	w.t.Helper()
	if w.quiet {
		return
	}
	if err := w.stream.Check(w.body); err != nil {
		w.t.Fatalf("after %#v: %v", c, err)
	}
	if w.stream.Hash() != w.twin.Hash() {
		w.t.Fatalf("after %#v: hashes differ", c)
	}
	if !bytes.Equal(w.stream.AppendSnapshot(nil), w.twin.AppendSnapshot(nil)) {
		w.t.Fatalf("after %#v: snapshots differ", c)
	}
	if !bytes.Equal(w.body.AppendSnapshot(nil), w.other.AppendSnapshot(nil)) {
		w.t.Fatalf("after %#v: bodies differ", c)
	}
	if w.restored {
		w.stream, w.body = w.restore()
		w.twin, w.other = w.restore()
	}
}

// restore returns what a snapshot of the first replica is restored as.
func (w *world) restore() (*jetlog.Stream, *jetlog.Memory) {
	w.t.Helper()
	form, body := w.stream.AppendSnapshot(nil), w.body.AppendSnapshot(nil)
	s, err := jetlog.Restore(form)
	w.must(err)
	m, err := jetlog.RestoreMemory(body)
	w.must(err)
	w.must(s.Check(m))
	if !bytes.Equal(s.AppendSnapshot(nil), form) || !bytes.Equal(m.AppendSnapshot(nil), body) {
		w.t.Fatal("what was restored is another")
	}
	if s.Hash() != w.stream.Hash() || s.Applied() != w.stream.Applied() || s.NextAckDeadline() != w.stream.NextAckDeadline() {
		w.t.Fatalf("restored: hash %x after %d commands, next deadline at %d", s.Hash(), s.Applied(), s.NextAckDeadline())
	}
	return s, m
}

// snapshot replaces the second replica by one that is restored from the first.
func (w *world) snapshot() []string {
	w.twin, w.other = w.restore()
	w.compare(nil)
	return nil
}

// fetch delivers like a leader: what is to be delivered again first, then what is new, as far as
// max_ack_pending allows.
func (w *world) fetch(args []string) []string {
	c := w.stream.Consumer(args[0])
	if c == nil {
		return []string{"no consumer"}
	}
	n := uint64(1)
	if len(args) > 1 {
		n = number(args[1])
	}
	d := choose(w.stream, w.body, c, n, w.clock)
	if len(d.Messages) == 0 {
		return []string{"nothing"}
	}
	again := map[uint64]uint64{}
	for _, m := range d.Messages {
		again[m.Sequence] = c.Deliveries(m.Sequence)
	}
	w.apply(d)
	out := make([]string, 0, len(d.Messages))
	for i, m := range d.Messages {
		message, err := w.body.Load(m.Sequence)
		w.must(err)
		text := fmt.Sprintf("%d: %d %s %q", d.From+uint64(i), m.Sequence, message.Subject, message.Payload)
		if m.Again {
			text += fmt.Sprintf(" delivery %d", again[m.Sequence]+1)
		}
		out = append(out, text)
	}
	return append(out, fmt.Sprintf("pending %d, ack pending %d", c.Pending(), c.AckPending()))
}

// choose returns what a leader would deliver next.
func choose(s *jetlog.Stream, m jetlog.Messages, c *jetlog.Consumer, n uint64, now int64) *command.Deliver {
	d := &command.Deliver{
		Time: now, Consumer: c.Name(), Incarnation: c.Incarnation(), From: c.Delivered().Consumer + 1,
	}
	if c.PausedUntil() > now {
		return d
	}
	c.Redelivery(func(seq, _ uint64) bool {
		if uint64(len(d.Messages)) < n {
			d.Messages = append(d.Messages, command.Delivery{Sequence: seq, Again: true})
		}
		return uint64(len(d.Messages)) < n
	})
	open := c.AckPending()
	above := uint64(0)
	for uint64(len(d.Messages)) < n {
		if limit := c.Config().MaxAckPending; limit > 0 && open >= limit && c.Config().Ack != config.AckNone {
			break
		}
		seq, err := c.Next(above, m)
		if err != nil || seq == 0 {
			break
		}
		d.Messages = append(d.Messages, command.Delivery{Sequence: seq})
		above = seq
		open++
	}
	return d
}

func (w *world) describe(r jetlog.Result) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case r.Code != 0:
		if r.Count > 0 {
			add("%d up to %d", r.Count, r.Sequence)
		}
		add("refused %d", r.Code)
		if r.Detail != "" {
			add("%s", r.Detail)
		}
	case r.Duplicate:
		add("duplicate of %d", r.Sequence)
	case r.Count > 0:
		add("%d up to %d", r.Count, r.Sequence)
		if !r.Stored {
			add("none stored")
		}
		for _, member := range r.Members {
			add("%s", w.describe(member))
		}
	case r.Stored:
		add("stored %d", r.Sequence)
		if r.Total != "" {
			add("total %s", r.Total)
		}
		if r.Previous > 0 {
			add("previous %d", r.Previous)
		}
		if r.As != nil {
			add("as %s %q %q at %d", r.As.Subject, r.As.Header, r.As.Payload, r.As.Time)
		}
	case r.Sequence > 0:
		add("ok %d", r.Sequence)
	case r.Created:
		add("created")
	default:
		add("ok")
	}
	if r.Removed > 0 {
		add("removed %d", r.Removed)
	}
	if r.More {
		add("more")
	}
	for _, e := range r.Exhausted {
		add("%s exhausted %d after %d", e.Consumer, e.Sequence, e.Deliveries)
	}
	for _, e := range r.Withdrawn {
		add("%s awaited %d (%d), delivered %d times", e.Consumer, e.Sequence, e.ConsumerSequence, e.Deliveries)
	}
	return strings.Join(parts, ", ")
}

func (w *world) state() []string {
	s := w.stream.State()
	return []string{fmt.Sprintf("messages %d, bytes %d, first %d, last %d", s.Messages, s.Bytes, s.First, s.Last)}
}

func (w *world) messages() []string {
	var out []string
	for seq, _ := w.body.Next(0); seq != 0; seq, _ = w.body.Next(seq + 1) {
		message, err := w.body.Load(seq)
		w.must(err)
		var text strings.Builder
		text.WriteString(fmt.Sprintf("%d %s %q", seq, message.Subject, message.Payload))
		for name, value := range headers.All(message.Header) {
			text.WriteString(fmt.Sprintf(" %s:%s", name, value))
		}
		out = append(out, text.String())
	}
	if len(out) == 0 {
		return []string{"none"}
	}
	return out
}

// due prints when the stream has something to do by itself.
func (w *world) due() []string {
	text := []string{"never", "never"}
	expiry, err := w.stream.NextExpiry(w.body)
	w.must(err)
	for i, at := range []int64{expiry, w.stream.NextAckDeadline()} {
		if at != 0 {
			text[i] = "in " + time.Duration(at-w.clock).String()
		}
	}
	return []string{"expiry " + text[0] + ", ack deadline " + text[1]}
}

// schedules prints what is to be sent later.
func (w *world) schedules() []string {
	var out []string
	for _, d := range w.stream.DueSchedules(math.MaxInt64, 100) {
		out = append(out, fmt.Sprintf("%d on %s in %s", d.Sequence, d.Subject, time.Duration(d.At-w.clock)))
	}
	if next := w.stream.NextSchedule(); len(out) == 0 || !strings.HasSuffix(out[0], " in "+time.Duration(next-w.clock).String()) {
		out = append(out, fmt.Sprintf("next at %d", next))
	}
	return out
}

// fire carries out what is due, like a leader.
func (w *world) fire() []string {
	var out []string
	for _, d := range w.stream.DueSchedules(w.clock, 10) {
		c, err := due.Fire(d, w.clock, w.body)
		w.must(err)
		out = append(out, d.Subject+": "+w.describe(w.apply(c)))
		// Once more: it has been carried out.
		if r := w.apply(c); r.Code != config.BadRequest {
			w.t.Fatalf("fired twice: %+v", r)
		}
	}
	return out
}

func (w *world) removed() []string {
	var text strings.Builder
	text.WriteString(fmt.Sprintf("published %d", w.stream.Published()))
	for r := jetlog.Reason(0); r <= jetlog.Skipped; r++ {
		if n := w.stream.Removed(r); n > 0 {
			text.WriteString(fmt.Sprintf(", %s %d", r, n))
		}
	}
	return []string{text.String()}
}

func (w *world) show(name string) string {
	c := w.stream.Consumer(name)
	if c == nil {
		return "no consumer"
	}
	var text strings.Builder
	text.WriteString(fmt.Sprintf("delivered %d/%d, floor %d/%d, pending %d, ack pending %d, redelivered %d",
		c.Delivered().Consumer, c.Delivered().Stream, c.AckFloor().Consumer, c.AckFloor().Stream,
		c.Pending(), c.AckPending(), c.Redelivered()))
	if n := c.Resting(); n > 0 {
		text.WriteString(fmt.Sprintf(", resting %d", n))
	}
	if at := c.NextDeadline(); at != 0 {
		text.WriteString(fmt.Sprintf(", deadline in %s", time.Duration(at-w.clock)))
	}
	if at := c.PausedUntil(); at != 0 {
		text.WriteString(fmt.Sprintf(", paused for %s", time.Duration(at-w.clock)))
	}
	for _, group := range c.Config().PriorityGroups {
		if id, _ := c.Pinned(group); id != "" {
			text.WriteString(fmt.Sprintf(", %s is %s", group, id))
		}
	}
	return text.String()
}
