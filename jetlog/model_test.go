package jetlog_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/jetlog/letters"
	"runnel/subjects"
)

// model is a stream in its plainest form: a map of messages, and everything else found by looking at
// all of them. It knows nothing of the real one but the commands.
type model struct {
	cfg       config.Stream
	live      map[uint64]*modelMessage
	last      uint64
	lastTime  int64
	clock     int64
	ids       map[string]modelID
	producers map[string][2]uint64 // number and sequence of the last
	lastID    string
	published int
	removed   map[jetlog.Reason]int
	consumers map[string]*modelConsumer
	schedules map[string]jetlog.Due
	causes    modelCauses
	puts      bool // the next message is put by the server
	// ends is the subject whose schedule the next message puts an end to.
	ends string
}

type modelMessage struct {
	seq     uint64
	time    int64
	subject string
	header  string
	payload string
	expires int64
	fire    int64
	kept    *modelKept
	aged    bool
}

type modelID struct {
	seq  uint64
	time int64
}

func newModel(cfg config.Stream) *model {
	return &model{
		cfg: cfg, live: map[uint64]*modelMessage{}, ids: map[string]modelID{}, producers: map[string][2]uint64{},
		removed: map[jetlog.Reason]int{}, consumers: map[string]*modelConsumer{}, schedules: map[string]jetlog.Due{},
		causes: newModelCauses(),
	}
}

// apply returns what a command does, in the words of modelResult.
func (m *model) apply(c command.Command) string {
	m.clock = max(m.clock, c.At())
	switch c := c.(type) {
	case *command.Publish:
		return m.withCause(c.Cause, func() string { return m.publish(c) })
	case *command.Settle:
		return m.settle(c)
	case *command.Paid:
		return m.pay(c)
	case *command.Batch:
		return m.batch(c)
	case *command.Copy:
		return m.copied(c)
	case *command.Fire:
		return m.fire(c)
	case *command.Delete:
		return m.delete(c)
	case *command.Purge:
		return m.purge(c)
	case *command.Expire:
		return m.expire()
	case *command.Producers:
		return m.mark(c)
	case *command.Configure:
		m.cfg = c.Config
		before := len(m.live)
		defer m.inOrder(m.lettersUpTo())
		m.trimSubjects()
		m.trim()
		return fmt.Sprintf("ok 0 -%d", before-len(m.live))
	}
	return m.applyConsumer(c)
}

// modelResult puts a result into the words of the model.
func modelResult(r jetlog.Result) string {
	switch {
	case r.Code != 0:
		return fmt.Sprintf("no %d %s", r.Code, r.Detail)
	case r.Duplicate:
		return fmt.Sprintf("duplicate %d", r.Sequence)
	}
	var text strings.Builder
	text.WriteString(fmt.Sprintf("ok %d -%d", r.Sequence, r.Removed))
	for _, e := range r.Exhausted {
		text.WriteString(fmt.Sprintf(" %s:%d", e.Consumer, e.Sequence))
	}
	return text.String()
}

// header returns what a header asks for: nothing in a message that is put.
func (m *model) header(c *command.Publish, name string) string {
	if c.Put != nil {
		return ""
	}
	v, _ := headers.Get(c.Header, name)
	return string(v)
}

func (m *model) publish(c *command.Publish) string {
	id, producer := m.header(c, "Nats-Msg-Id"), m.header(c, "Runnel-Producer")
	if c.Put != nil {
		producer = "\n" + c.Put.Producer
	}
	if r := m.produced(c, producer); r != "" {
		return r
	}
	if seen, ok := m.ids[id]; ok && id != "" && producer == "" && m.clock-seen.time < int64(m.cfg.DuplicateWindow) {
		return m.repeated(c, seen.seq)
	}
	ttl := m.header(c, "Nats-TTL")
	if ttl != "" && !m.cfg.AllowTTL {
		return "no 10166 "
	}
	if want := m.header(c, "Nats-Expected-Last-Subject-Sequence"); want != "" {
		if last := m.lastOn(c.Subject, m.last); want != strconv.FormatUint(last, 10) {
			return fmt.Sprintf("no 10071 %d", last)
		}
	}
	if want := m.header(c, "Nats-Expected-Last-Sequence"); want != "" && want != strconv.FormatUint(m.last, 10) {
		return fmt.Sprintf("no 10071 %d", m.last)
	}
	if want := m.header(c, "Nats-Expected-Last-Msg-Id"); want != "" && want != m.lastID {
		return "no 10070 " + m.lastID
	}
	if code := m.schedule(c); code != "" {
		return code
	}
	rollup := m.header(c, "Nats-Rollup")
	if rollup != "" && !m.cfg.AllowRollup {
		return "no 10111 rollup not permitted"
	}
	m.ends = m.header(c, "Nats-Scheduler")
	m.puts = c.Put != nil
	r := m.store(m.message(c), id, rollup)
	m.puts = false
	if producer != "" && strings.HasPrefix(r, "ok") {
		m.producers[producer] = [2]uint64{m.number(c), m.last}
	}
	return r
}

func (m *model) number(c *command.Publish) uint64 {
	if c.Put != nil {
		return c.Put.Number
	}
	n, _ := strconv.ParseUint(m.header(c, "Runnel-Producer-Seq"), 10, 64)
	return n
}

// produced answers a message whose number is not the next of its producer.
func (m *model) produced(c *command.Publish, producer string) string {
	last, known := m.producers[producer]
	switch n := m.number(c); {
	case c.Put != nil && n > last[0] && last[0] < c.Put.After:
		return fmt.Sprintf("no 11002 %q is at %d, so %d is next, not %d", producer, last[0], last[0]+1, n)
	case producer == "" || !known || c.Put != nil && n > last[0]:
	case n == last[0]:
		return fmt.Sprintf("duplicate %d", last[1])
	case n < last[0]:
		return "duplicate 0"
	case n > last[0]+1:
		return fmt.Sprintf("no 11002 %q is at %d, so %d is next, not %d", producer, last[0], last[0]+1, n)
	}
	return ""
}

// mark forgets producers, and sets others, unless one of those is known, or at nothing, or ahead of the stream.
func (m *model) mark(c *command.Producers) string {
	for _, p := range c.Set {
		if _, known := m.producers[p.Name]; known || p.Number == 0 || p.Sequence == 0 || p.Sequence > m.last {
			return fmt.Sprintf("no 11001 %q cannot be at %d", p.Name, p.Number)
		}
	}
	for _, p := range c.Forget {
		if m.producers[p.Name][0] == p.Number {
			delete(m.producers, p.Name)
		}
	}
	for _, p := range c.Set {
		m.producers[p.Name] = [2]uint64{p.Number, p.Sequence}
	}
	return "ok 0 -0"
}

// message returns what is stored for a publish.
func (m *model) message(c *command.Publish) *modelMessage {
	ttl := m.header(c, "Nats-TTL")
	message := &modelMessage{
		seq: m.last + 1, time: m.clock, subject: c.Subject, header: string(c.Header), payload: string(c.Payload),
	}
	if n, err := strconv.Atoi(ttl); err == nil {
		d := time.Duration(n) * time.Second
		if d < m.cfg.MarkerTTL && m.cfg.MaxPerSubject != 1 {
			d = m.cfg.MarkerTTL
			message.header = string(headers.Set(c.Header, "Nats-TTL", d.String()))
		}
		message.expires = m.clock + int64(d)
	} else if ttl == "never" {
		message.expires = jetlog.Never
	}
	if m.header(c, "Nats-Schedule") != "" {
		message.fire = c.Fire
	}
	return message
}

// repeated answers a message whose id an earlier one had: as a duplicate, if what it expects was so when
// that one came, as far as can still be told.
func (m *model) repeated(c *command.Publish, seq uint64) string {
	if want := m.header(c, "Nats-Expected-Last-Sequence"); want != "" && want != strconv.FormatUint(seq-1, 10) {
		return fmt.Sprintf("no 10071 %d", m.last)
	}
	original := m.live[seq]
	alike := func(name string) bool {
		v, _ := headers.Get([]byte(original.header), name)
		return string(v) == m.header(c, name)
	}
	if want := m.header(c, "Nats-Expected-Last-Msg-Id"); want != "" && original != nil && !alike("Nats-Expected-Last-Msg-Id") {
		return "no 10070 " + m.lastID
	}
	want := m.header(c, "Nats-Expected-Last-Subject-Sequence")
	if want == "" || original != nil && original.subject == c.Subject && alike("Nats-Expected-Last-Subject-Sequence") {
		return fmt.Sprintf("duplicate %d", seq)
	}
	before, last := m.lastOn(c.Subject, seq-1), m.lastOn(c.Subject, m.last)
	number, _ := strconv.ParseUint(want, 10, 64)
	if number == before || original == nil && before == 0 && number < seq {
		return fmt.Sprintf("duplicate %d", seq)
	}
	return fmt.Sprintf("no 10071 %d", last)
}

func (m *model) store(message *modelMessage, id, rollup string) string {
	roll := func(old *modelMessage) bool {
		return rollup == "all" || rollup == "sub" && old.subject == message.subject
	}
	wanted := m.cfg.Retention != config.InterestRetention
	for _, c := range m.consumers {
		wanted = wanted || c.matches(message.subject) && c.delivered.Stream < message.seq
	}
	if !wanted && m.puts {
		return "no 10077 no consumer of the stream wants the message"
	}
	if wanted && m.cfg.Discard == config.DiscardNew {
		left, bytes := 1, m.bytes(message)
		same := 0
		for _, old := range m.live {
			if old.subject == message.subject {
				same++
			}
			left++
			bytes += m.bytes(old)
		}
		if m.cfg.MaxPerSubject > 0 {
			for _, seq := range m.ordered() {
				if old := m.live[seq]; old.subject == message.subject && same >= int(m.cfg.MaxPerSubject) {
					same--
					if old.kept != nil && rollup == "" {
						continue
					}
					left--
					bytes -= m.bytes(old)
				}
			}
		}
		if m.cfg.MaxMessages > 0 && left > int(m.cfg.MaxMessages) {
			return "no 10077 maximum messages exceeded"
		}
		if m.cfg.MaxBytes > 0 && bytes > int(m.cfg.MaxBytes) {
			return "no 10077 maximum bytes exceeded"
		}
	}
	before := len(m.live)
	for _, seq := range m.ordered() {
		if roll(m.live[seq]) {
			m.remove(seq, jetlog.Rollup)
		}
	}
	if d, ok := m.schedules[m.ends]; ok {
		m.remove(d.Sequence, jetlog.Purged)
	}
	m.ends = ""
	m.last, m.lastTime = message.seq, message.time
	m.published++
	m.lastID = id
	if id != "" && m.cfg.DuplicateWindow > 0 {
		m.ids[id] = modelID{message.seq, message.time}
	}
	if !wanted {
		m.removed[jetlog.NoInterest]++
		return fmt.Sprintf("ok %d -%d", message.seq, before-len(m.live))
	}
	defer m.inOrder(m.lettersUpTo())
	m.live[message.seq] = message
	delete(m.schedules, message.subject)
	if message.fire != 0 {
		m.schedules[message.subject] = jetlog.Due{Subject: message.subject, Sequence: message.seq, At: message.fire}
	}
	m.trimSubjects()
	m.trim()
	return fmt.Sprintf("ok %d -%d", message.seq, before+1-len(m.live))
}

func (m *model) bytes(message *modelMessage) int {
	n := 30 + len(message.subject) + len(message.header) + len(message.payload)
	if message.header != "" {
		n += 4
	}
	return n
}

func (m *model) ordered() []uint64 { return slices.Sorted(maps.Keys(m.live)) }

func (m *model) remove(seq uint64, reason jetlog.Reason) {
	if !m.keeps(seq, reason) {
		m.erase(seq, reason)
	}
}

func (m *model) erase(seq uint64, reason jetlog.Reason) {
	if subject := m.live[seq].subject; m.schedules[subject].Sequence == seq {
		delete(m.schedules, subject)
	}
	delete(m.live, seq)
	m.removed[reason]++
	for _, c := range m.consumers {
		c.forget(seq)
	}
}

// trimSubjects and trim remove what the limits do not allow.
func (m *model) trimSubjects() {
	if m.cfg.MaxPerSubject <= 0 {
		return
	}
	count := map[string]int64{}
	for _, seq := range slices.Backward(m.ordered()) {
		subject := m.live[seq].subject
		if count[subject]++; count[subject] > m.cfg.MaxPerSubject && m.live[seq].kept == nil {
			m.remove(seq, jetlog.LimitSubject)
		}
	}
}

func (m *model) trim() {
	if m.cfg.Discard == config.DiscardNew {
		return
	}
	for _, seq := range m.ordered() {
		messages, bytes := m.counted()
		switch {
		case m.live[seq].kept != nil:
		case m.cfg.MaxMessages > 0 && messages > int(m.cfg.MaxMessages):
			m.remove(seq, jetlog.LimitMessages)
		case m.cfg.MaxBytes > 0 && bytes > int(m.cfg.MaxBytes):
			m.remove(seq, jetlog.LimitBytes)
		}
	}
}

func (m *model) delete(c *command.Delete) string {
	if m.live[c.Sequence] == nil {
		return fmt.Sprintf("no 10043 %d", c.Sequence)
	}
	m.remove(c.Sequence, jetlog.Deleted)
	return fmt.Sprintf("ok %d -1", c.Sequence)
}

func (m *model) purge(c *command.Purge) string {
	var matching []uint64
	for _, seq := range m.ordered() {
		if c.Filter == "" || c.Filter == ">" || subjects.Match(c.Filter, m.live[seq].subject) {
			matching = append(matching, seq)
		}
	}
	matching = matching[:len(matching)-min(len(matching), int(c.Keep))]
	n := 0
	for _, seq := range matching {
		if c.Sequence == 0 || seq < c.Sequence {
			m.remove(seq, jetlog.Purged)
			n++
		}
	}
	if c.Filter == "" || c.Filter == ">" {
		// Consumers move behind a purge of the beginning.
		behind := m.last
		switch {
		case c.Sequence > 0:
			behind = c.Sequence - 1
			m.last = max(m.last, behind)
		case c.Keep > 0 && len(matching) == 0:
			behind = 0
		case c.Keep > 0:
			behind = slices.Min(m.ordered()) - 1
		}
		for _, consumer := range m.consumers {
			consumer.delivered.Stream = max(consumer.delivered.Stream, behind)
			if behind > 0 {
				consumer.settleFloor()
			}
		}
	}
	return fmt.Sprintf("ok 0 -%d", n)
}

func (m *model) expire() string {
	reasons := map[uint64]jetlog.Reason{}
	for seq, message := range m.live {
		switch {
		case message.kept != nil && message.kept.ended && message.aged:
		case message.expires > 0 && message.expires <= m.clock && (message.kept == nil || !message.kept.ended):
			reasons[seq] = jetlog.TTL
		case message.expires != jetlog.Never && !message.aged && m.cfg.MaxAge > 0 && message.time+int64(m.cfg.MaxAge) <= m.clock:
			reasons[seq] = jetlog.LimitAge
		}
	}
	for _, message := range m.live {
		message.aged = message.aged || m.cfg.MaxAge > 0 && message.time+int64(m.cfg.MaxAge) <= m.clock
	}
	before := len(m.live)
	lasts, left := map[string]uint64{}, map[string]bool{}
	for seq, message := range m.live {
		lasts[message.subject] = max(lasts[message.subject], seq)
		if _, gone := reasons[seq]; !gone {
			left[message.subject] = true
		}
	}
	var marked []string
	for _, seq := range slices.Sorted(maps.Keys(reasons)) {
		message := m.live[seq]
		marker := strings.Contains(message.header, "Nats-Marker-Reason")
		if m.cfg.MarkerTTL > 0 && lasts[message.subject] == seq && !left[message.subject] && !marker {
			marked = append(marked, message.subject)
		}
	}
	if m.cfg.Retention == config.InterestRetention {
		marked = slices.DeleteFunc(marked, func(subject string) bool {
			for _, c := range m.consumers {
				if c.matches(subject) && c.delivered.Stream <= m.last {
					return false
				}
			}
			return true
		})
	}
	for _, seq := range slices.Sorted(maps.Keys(reasons)) {
		m.remove(seq, reasons[seq])
	}
	removed := before - len(m.live)
	for _, subject := range marked {
		m.last++
		m.lastTime = m.clock
		m.published++
		m.lastID = ""
		ttl := m.cfg.MarkerTTL.String()
		delete(m.schedules, subject)
		m.live[m.last] = &modelMessage{
			seq: m.last, time: m.clock, subject: subject, expires: m.clock + int64(m.cfg.MarkerTTL),
			header: "NATS/1.0\r\nNats-Marker-Reason: MaxAge\r\nNats-TTL: " + ttl + "\r\nNats-Rollup: sub\r\n\r\n",
		}
	}
	return fmt.Sprintf("ok 0 -%d", removed)
}

// modelConsumer is a consumer in its plainest form.
type modelConsumer struct {
	m           *model
	name        string
	cfg         config.Consumer
	incarnation uint64
	delivered   jetlog.Position
	floor       jetlog.Position
	waiting     map[uint64]*modelDelivery
	exhausted   map[uint64]bool
	letters     map[uint64]letters.Letter
	lastLetter  uint64
	box         uint64
	answered    uint64 // by a message that is about to be stored
	// lasts are the messages up to resume that it gets.
	lasts  map[uint64]bool
	resume uint64
	queue  []uint64
	// passed are those up to delivered that come later.
	passed map[uint64]bool
}

type modelDelivery struct {
	consumer uint64
	count    int
	deadline int64
	first    int64
	last     int64
	resting  bool
}

func (c *modelConsumer) matches(subject string) bool {
	filters := c.cfg.Filters()
	return len(filters) == 0 || slices.ContainsFunc(filters, func(f string) bool { return subjects.Match(f, subject) })
}

// needs reports whether the consumer is not through with a message.
func (c *modelConsumer) needs(message *modelMessage) bool {
	if _, letter := c.letters[message.seq]; letter {
		return true
	}
	return c.awaits(message)
}

// awaits is needs, but for letters.
func (c *modelConsumer) awaits(message *modelMessage) bool {
	if message.seq > c.delivered.Stream {
		return c.matches(message.subject) && (message.seq > c.resume || c.lasts[message.seq])
	}
	return c.waiting[message.seq] != nil || c.exhausted[message.seq] || c.passed[message.seq]
}

func (c *modelConsumer) pending() (n uint64) {
	for seq, message := range c.m.live {
		if seq > c.delivered.Stream && c.awaits(message) || c.passed[seq] {
			n++
		}
	}
	return n
}

func (c *modelConsumer) forget(seq uint64) {
	_, letter := c.letters[seq]
	delete(c.letters, seq)
	if c.waiting[seq] != nil || c.passed[seq] || letter && seq <= c.delivered.Stream {
		delete(c.waiting, seq)
		delete(c.passed, seq)
		c.settleFloor()
	}
	delete(c.exhausted, seq)
}

func (c *modelConsumer) settleFloor() {
	c.floor = c.delivered
	if len(c.waiting) > 0 {
		first := slices.Min(slices.Collect(maps.Keys(c.waiting)))
		c.floor = jetlog.Position{Consumer: c.waiting[first].consumer - 1, Stream: first - 1}
	}
	if len(c.letters) > 0 {
		first := slices.Min(slices.Collect(maps.Keys(c.letters)))
		if first <= c.floor.Stream {
			c.floor = jetlog.Position{Consumer: min(c.floor.Consumer, c.letters[first].Consumer-1), Stream: first - 1}
		}
	}
	for seq := range c.passed {
		c.floor.Stream = min(c.floor.Stream, seq-1)
	}
	if c.cfg.Metadata[config.MetadataKey] != "" {
		c.floor.Consumer = c.delivered.Consumer - uint64(len(c.waiting))
	}
}

// String describes the state of a consumer.
func (c *modelConsumer) String() string {
	redelivered := len(c.exhausted)
	for _, d := range c.waiting {
		if d.count > 1 {
			redelivered++
		}
	}
	var queue []uint64
	for _, seq := range c.queue {
		if c.waiting[seq] != nil {
			queue = append(queue, seq)
		}
	}
	resting := 0
	for _, w := range c.waiting {
		if w.resting {
			resting++
		}
	}
	passed := slices.Sorted(maps.Keys(c.passed))
	return fmt.Sprintf("%s %v %v %d %d %d %v %d %v %s", c.name, c.delivered, c.floor, c.pending(), len(c.waiting), redelivered, queue, resting, passed,
		shownLetters(slices.Collect(maps.Values(c.letters))))
}

// describe gives the real consumer the same words.
func describe(c *jetlog.Consumer) string {
	var queue []uint64
	c.Redelivery(func(seq, _ uint64) bool {
		queue = append(queue, seq)
		return true
	})
	return fmt.Sprintf("%s %v %v %d %d %d %v %d %v %s", c.Name(), c.Delivered(), c.AckFloor(), c.Pending(),
		c.AckPending(), c.Redelivered(), queue, c.Resting(), slices.Collect(c.Passed().All), shownLetters(lettersOf(c.Letters())))
}

// difference returns in what the stream is not like the model, empty for nothing.
func (m *model) difference(s *jetlog.Stream, body jetlog.Messages) string {
	if got, want := s.State().Messages, uint64(len(m.live)); got != want {
		return fmt.Sprintf("%d messages, want %d: %v", got, want, m.ordered())
	}
	for _, d := range s.DueSchedules(math.MaxInt64, len(m.schedules)+1) {
		if m.schedules[d.Subject] != d {
			return fmt.Sprintf("schedules %v, want %v", d, m.schedules)
		}
	}
	if got := s.DueSchedules(math.MaxInt64, 1000); len(got) != len(m.schedules) {
		return fmt.Sprintf("schedules %v, want %v", got, m.schedules)
	}
	if got, want := s.State().Last, m.last; got != want || s.Published() != uint64(m.published) {
		return fmt.Sprintf("last %d of %d, want %d of %d", got, s.Published(), want, m.published)
	}
	for seq, want := range m.live {
		got, err := body.Load(seq)
		if err != nil || got.Sequence != seq || got.Time != want.time || got.Subject != want.subject ||
			string(got.Header) != want.header || string(got.Payload) != want.payload {
			return fmt.Sprintf("message %+v, %v, want %+v", got, err, want)
		}
	}
	for r := jetlog.Reason(0); r <= jetlog.NoInterest; r++ {
		if got, want := s.Removed(r), uint64(m.removed[r]); got != want {
			return fmt.Sprintf("%s %d, want %d", r, got, want)
		}
	}
	if got, want := len(s.Consumers()), len(m.consumers); got != want {
		return fmt.Sprintf("%d consumers, want %d", got, want)
	}
	for _, c := range s.Consumers() {
		if got, want := describe(c), m.consumers[c.Name()].String(); got != want {
			return fmt.Sprintf("consumer %s, want %s", got, want)
		}
	}
	return ""
}

// due returns the sequences that wait for an answer until now, in the order of their deadlines.
func (c *modelConsumer) due(now int64) []uint64 {
	var out []uint64
	for seq, d := range c.waiting {
		if d.deadline <= now && !slices.Contains(c.queue, seq) {
			out = append(out, seq)
		}
	}
	slices.SortFunc(out, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(c.waiting[a].deadline, c.waiting[b].deadline), cmp.Compare(a, b))
	})
	return out
}
