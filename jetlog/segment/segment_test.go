package segment_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"runnel/jetlog/segment"
	"runnel/jetlog/vfs"
	"runnel/subjects"
)

const fileName = "1.seg"

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// data is what a file should hold, as lists.
type data struct {
	streams  []uint64 // ascending
	messages map[uint64][]segment.Message
	tables   []table
}

type table struct {
	stream uint64
	kind   segment.FactKind
	facts  []segment.Fact // sorted
}

// write writes the data to a new file.
func (d *data) write(t testing.TB, fs vfs.FS, c segment.WriterConfig) segment.Summary {
	t.Helper()
	s, err := d.tryWrite(fs, c)
	ok(t, err)
	return s
}

func (d *data) tryWrite(fs vfs.FS, c segment.WriterConfig) (segment.Summary, error) {
	w, err := segment.Create(fs, fileName, c)
	if err != nil {
		return segment.Summary{}, err
	}
	if err := d.addTo(w); err != nil {
		return segment.Summary{}, err
	}
	return w.Finish()
}

func (d *data) addTo(w *segment.Writer) error {
	for _, stream := range d.streams {
		for _, m := range d.messages[stream] {
			if err := w.Add(stream, m); err != nil {
				return err
			}
		}
	}
	for _, t := range d.tables {
		for _, f := range t.facts {
			if err := w.AddFact(t.stream, t.kind, f.Hash, f.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// shape says what random data look like.
type shape struct {
	streams, messages, subjects, facts, payload int
	gaps                                        bool
}

// word is a short token, with few letters so that prefixes are shared.
func word(r *rand.Rand) string {
	b := make([]byte, 1+r.IntN(4))
	for i := range b {
		b[i] = "abc*>"[min(r.IntN(40), 4)%(3+r.IntN(3)/2*2)]
	}
	return string(b)
}

func subject(r *rand.Rand, i int) string {
	switch r.IntN(4) {
	case 0:
		return fmt.Sprintf("orders.%s.%d", word(r), i)
	case 1:
		return fmt.Sprintf("orders.eu.%s", word(r))
	case 2:
		return word(r)
	default:
		return fmt.Sprintf("%s.%s.%s.%04d", word(r), word(r), word(r), i)
	}
}

func randomBytes(r *rand.Rand, n int) []byte {
	if n == 0 {
		return nil
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return b
}

// random makes data.
func random(r *rand.Rand, s shape) *data {
	d := &data{messages: map[uint64][]segment.Message{}}
	stream := uint64(0)
	for range s.streams {
		stream += 1 + r.Uint64N(3)
		names := make([]string, s.subjects)
		for i := range names {
			names[i] = subject(r, i)
		}
		var list []segment.Message
		sequence, now := r.Uint64N(1000), int64(1_700_000_000_000_000_000)
		for range 1 + r.IntN(s.messages) {
			sequence++
			if s.gaps && r.IntN(3) == 0 {
				sequence += r.Uint64N(1 << r.IntN(10))
			}
			now += int64(r.IntN(1000))
			m := segment.Message{Sequence: sequence, Time: now, Subject: names[r.IntN(1+r.IntN(len(names)))]}
			m.Payload = randomBytes(r, r.IntN(s.payload+1))
			if r.IntN(3) == 0 {
				m.Header = append([]byte("NATS/1.0\r\n"), randomBytes(r, r.IntN(20))...)
			}
			if r.IntN(4) == 0 {
				m.Expires = now + int64(r.IntN(1_000_000))
			}
			m.Bytes = uint64(len(m.Subject) + len(m.Header) + len(m.Payload) + r.IntN(3)*17)
			list = append(list, m)
		}
		d.streams = append(d.streams, stream)
		d.messages[stream] = list
		for kind := range segment.FactKind(r.IntN(3)) {
			if s.facts > 0 {
				d.tables = append(d.tables, table{stream: stream, kind: kind, facts: randomFacts(r, 1+r.IntN(s.facts))})
			}
		}
	}
	return d
}

func randomFacts(r *rand.Rand, n int) []segment.Fact {
	facts := make([]segment.Fact, n)
	for i := range facts {
		for j := range facts[i].Hash {
			facts[i].Hash[j] = byte(r.IntN(256))
		}
		if r.IntN(2) == 0 { // hashes that share their first eight bytes
			copy(facts[i].Hash[:8], "samesame")
		}
		v := r.Uint64N(1 << 40)
		facts[i].Value = segment.Value{v, v + r.Uint64N(1000), r.Uint64() >> r.IntN(64)}
	}
	sortFacts(facts)
	return slices.CompactFunc(facts, func(a, b segment.Fact) bool { return a.Hash == b.Hash })
}

func sortFacts(facts []segment.Fact) {
	slices.SortFunc(facts, func(a, b segment.Fact) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
}

// The naive answers.

func selects(pattern, subject string) bool {
	return pattern == "" || pattern == ">" || pattern == subject && subjects.IsLiteral(pattern) ||
		!subjects.IsLiteral(pattern) && subjects.Match(pattern, subject)
}

func (d *data) load(stream, sequence uint64) (segment.Message, bool) {
	list := d.messages[stream]
	i := sort.Search(len(list), func(i int) bool { return list[i].Sequence >= sequence })
	if i == len(list) || list[i].Sequence != sequence {
		return segment.Message{}, false
	}
	return list[i], true
}

func (d *data) nextOf(stream uint64, pattern string, from uint64) (sequence uint64, ok bool) {
	for _, m := range d.messages[stream] {
		if m.Sequence >= from && selects(pattern, m.Subject) {
			return m.Sequence, true
		}
	}
	return 0, false
}

func (d *data) lastOf(stream uint64, pattern string, upTo uint64) (sequence uint64, ok bool) {
	for _, m := range d.messages[stream] {
		if m.Sequence <= upTo && selects(pattern, m.Subject) {
			sequence, ok = m.Sequence, true
		}
	}
	return sequence, ok
}

func (d *data) countOf(stream uint64, pattern string, from uint64) (n uint64) {
	for _, m := range d.messages[stream] {
		if m.Sequence >= from && selects(pattern, m.Subject) {
			n++
		}
	}
	return n
}

func (d *data) firstAt(stream uint64, time int64) (uint64, bool) {
	for _, m := range d.messages[stream] {
		if m.Time >= time {
			return m.Sequence, true
		}
	}
	return 0, false
}

func (d *data) subjects(stream uint64, pattern string) []segment.Subject {
	found := map[string]segment.Subject{}
	for _, m := range d.messages[stream] {
		if !selects(pattern, m.Subject) {
			continue
		}
		s, seen := found[m.Subject]
		if !seen {
			s = segment.Subject{Subject: m.Subject, First: m.Sequence}
		}
		s.Last = m.Sequence
		s.Count++
		found[m.Subject] = s
	}
	var list []segment.Subject
	for _, s := range found {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b segment.Subject) int { return bytes.Compare([]byte(a.Subject), []byte(b.Subject)) })
	return list
}

func (d *data) extent(stream uint64) segment.Extent {
	list := d.messages[stream]
	if len(list) == 0 {
		return segment.Extent{}
	}
	first, last := list[0], list[len(list)-1]
	e := segment.Extent{
		Stream: stream, First: first.Sequence, Last: last.Sequence, FirstTime: first.Time, LastTime: last.Time,
		Count: uint64(len(list)),
	}
	for _, m := range list {
		e.Bytes += m.Bytes
	}
	return e
}

// query is a question to a segment and the right answer. ask returns the answer given.
type query struct {
	name string
	want any
	ask  func(s *segment.Segment) (any, error)
}

// answer is what most questions are answered with.
type answer struct {
	Sequence uint64
	OK       bool
}

// queries returns questions about everything, with their answers. Each places where a sequence or a time is
// asked for comes from the data, and next to it.
func (d *data) queries(r *rand.Rand, each int) []query {
	var list []query
	streams := append([]uint64{0, 1 << 60}, d.streams...)
	for _, stream := range streams {
		list = append(list, d.whole(stream)...)
		for range each {
			list = append(list, d.one(r, stream)...)
		}
	}
	for _, t := range d.tables {
		list = append(list, t.queries(r, each)...)
	}
	return list
}

// whole asks about all of a stream.
func (d *data) whole(stream uint64) []query {
	messages := func(from uint64) query {
		var want []segment.Message
		for _, m := range d.messages[stream] {
			if m.Sequence >= from {
				want = append(want, m)
			}
		}
		return query{fmt.Sprintf("Messages(%d, %d)", stream, from), want, func(s *segment.Segment) (any, error) {
			var got []segment.Message
			for m, err := range s.Messages(stream, from) {
				if err != nil {
					return nil, err
				}
				m.Header, m.Payload = copyOf(m.Header), copyOf(m.Payload)
				got = append(got, m)
			}
			return got, nil
		}}
	}
	e := d.extent(stream)
	return []query{
		{fmt.Sprintf("Extent(%d)", stream), e, func(s *segment.Segment) (any, error) {
			got, _ := s.Extent(stream)
			return got, nil
		}},
		messages(0), messages(e.First + (e.Last-e.First)/2),
	}
}

// copyOf is a copy of b, nil if it is empty: so comparing takes the short way.
func copyOf(b []byte) []byte { return append([]byte(nil), b...) }

// one asks about a random place in a stream.
func (d *data) one(r *rand.Rand, stream uint64) []query {
	sequence, time, pattern := r.Uint64N(10), int64(0), word(r)
	if messages := d.messages[stream]; len(messages) > 0 {
		m := messages[r.IntN(len(messages))]
		sequence, time = m.Sequence+r.Uint64N(3)-1, m.Time+r.Int64N(3)-1
		pattern = patternFor(r, messages[r.IntN(len(messages))].Subject)
	}
	arguments := fmt.Sprintf("(%d, %q, %d)", stream, pattern, sequence)
	m, found := d.load(stream, sequence)
	meta := segment.Meta{
		Sequence: m.Sequence, Time: m.Time, Expires: m.Expires, Bytes: m.Bytes, Subject: m.Subject,
		HeaderBytes: len(m.Header), PayloadBytes: len(m.Payload),
	}
	ask := func(name string, want uint64, ok bool, ask func(s *segment.Segment) (uint64, bool, error)) query {
		return query{name + arguments, answer{want, ok}, func(s *segment.Segment) (any, error) {
			got, ok, err := ask(s)
			return answer{got, ok}, err
		}}
	}
	next, hasNext := d.nextOf(stream, "", sequence)
	nextOf, hasNextOf := d.nextOf(stream, pattern, sequence)
	lastOf, hasLastOf := d.lastOf(stream, pattern, sequence)
	last, hasLast := d.lastOf(stream, ">", sequence)
	at, hasAt := d.firstAt(stream, time)
	return []query{
		{"Load" + arguments, message{m, found}, func(s *segment.Segment) (any, error) {
			m, ok, err := s.Load(stream, sequence)
			return message{m, ok}, err
		}},
		{"Meta" + arguments, meta, func(s *segment.Segment) (any, error) {
			m, _, err := s.Meta(stream, sequence)
			return m, err
		}},
		ask("Next", next, hasNext, func(s *segment.Segment) (uint64, bool, error) { return s.Next(stream, sequence) }),
		ask("NextOf", nextOf, hasNextOf, func(s *segment.Segment) (uint64, bool, error) {
			return s.NextOf(stream, pattern, sequence)
		}),
		ask("LastOf", lastOf, hasLastOf, func(s *segment.Segment) (uint64, bool, error) {
			return s.LastOf(stream, pattern, sequence)
		}),
		ask("LastOf >", last, hasLast, func(s *segment.Segment) (uint64, bool, error) {
			return s.LastOf(stream, ">", sequence)
		}),
		ask("FirstAt", at, hasAt, func(s *segment.Segment) (uint64, bool, error) { return s.FirstAt(stream, time) }),
		{"CountOf" + arguments, d.countOf(stream, pattern, sequence), func(s *segment.Segment) (any, error) {
			return s.CountOf(stream, pattern, sequence)
		}},
		{"CountOf >" + arguments, d.countOf(stream, "", sequence), func(s *segment.Segment) (any, error) {
			return s.CountOf(stream, ">", sequence)
		}},
		{"CountOf from 0" + arguments, d.countOf(stream, pattern, 0), func(s *segment.Segment) (any, error) {
			return s.CountOf(stream, pattern, 0)
		}},
		{"Subjects" + arguments, d.subjects(stream, pattern), func(s *segment.Segment) (any, error) {
			var got []segment.Subject
			for x, err := range s.Subjects(stream, pattern) {
				if err != nil {
					return nil, err
				}
				got = append(got, x)
			}
			return got, nil
		}},
	}
}

type message struct {
	segment.Message
	ok bool
}

// patternFor makes a pattern from a subject: mostly one that selects it.
func patternFor(r *rand.Rand, subject string) string {
	tokens := slices.Collect(subjects.Tokens(subject))
	for i := range tokens {
		switch r.IntN(8) {
		case 0, 1:
			tokens[i] = "*"
		case 2:
			tokens[i] = word(r)
		case 3:
			tokens = append(tokens[:i:i], ">")
		}
		if tokens[i] == ">" {
			break
		}
	}
	var pattern strings.Builder
	for i, token := range tokens {
		if i > 0 {
			pattern.WriteString(".")
		}
		pattern.WriteString(token)
	}
	return pattern.String()
}

func (t *table) queries(r *rand.Rand, each int) []query {
	list := []query{{fmt.Sprintf("Facts(%d, %d)", t.stream, t.kind), t.facts, func(s *segment.Segment) (any, error) {
		var got []segment.Fact
		for f, err := range s.Facts(t.stream, t.kind) {
			if err != nil {
				return nil, err
			}
			got = append(got, f)
		}
		return got, nil
	}}}
	for range each {
		f, found := t.facts[r.IntN(len(t.facts))], true
		if r.IntN(3) == 0 { // one that is not there
			f, found = segment.Fact{Hash: f.Hash}, false
			f.Hash[r.IntN(16)]++
			for _, x := range t.facts {
				if x.Hash == f.Hash {
					f, found = x, true
				}
			}
		}
		list = append(list, query{
			fmt.Sprintf("Fact(%d, %d, %x)", t.stream, t.kind, f.Hash),
			fact{f.Value, found},
			func(s *segment.Segment) (any, error) {
				v, ok, err := s.Fact(t.stream, t.kind, f.Hash)
				return fact{v, ok}, err
			},
		})
	}
	return list
}

type fact struct {
	segment.Value
	ok bool
}

// same compares answers; no bytes and nil are the same.
func same(got, want any) bool {
	if reflect.DeepEqual(got, want) {
		return true
	}
	return fmt.Sprint(got) == fmt.Sprint(want)
}

// check asks everything.
func check(t testing.TB, s *segment.Segment, list []query) {
	t.Helper()
	for _, q := range list {
		got, err := q.ask(s)
		if err != nil {
			t.Fatalf("%s: %v", q.name, err)
		}
		if !same(got, q.want) {
			t.Fatalf("%s: got %.500s, want %.500s", q.name, fmt.Sprint(got), fmt.Sprint(q.want))
		}
	}
}

func open(t testing.TB, fs vfs.FS, c segment.Config) *segment.Segment {
	t.Helper()
	s, err := segment.Open(fs, fileName, c)
	ok(t, err)
	t.Cleanup(func() { ok(t, s.Close()) })
	return s
}

func key(t testing.TB, secret byte) *segment.Key {
	t.Helper()
	k, err := segment.NewKey(bytes.Repeat([]byte{secret}, segment.KeyBytes))
	ok(t, err)
	return k
}

// variants are ways to write the same data.
func variants(t testing.TB) map[string]segment.WriterConfig {
	return map[string]segment.WriterConfig{
		"plain":             {BlockBytes: 512},
		"large blocks":      {},
		"tiny blocks":       {BlockBytes: 1},
		"compressed":        {BlockBytes: 4096, Compress: true},
		"chacha20":          {BlockBytes: 512, Key: key(t, 1)},
		"aes":               {BlockBytes: 512, Key: key(t, 1), Cipher: segment.AES256GCM},
		"compressed sealed": {BlockBytes: 2048, Compress: true, Key: key(t, 1)},
	}
}

func TestModel(t *testing.T) {
	shapes := map[string]shape{
		"one message":   {streams: 1, messages: 1, subjects: 1, facts: 1, payload: 10},
		"small streams": {streams: 30, messages: 4, subjects: 3, facts: 3, payload: 20},
		"one subject":   {streams: 1, messages: 600, subjects: 1, payload: 40},
		"few subjects":  {streams: 2, messages: 900, subjects: 5, facts: 800, payload: 30, gaps: true},
		"many subjects": {streams: 3, messages: 700, subjects: 500, facts: 40, payload: 100, gaps: true},
		"dense":         {streams: 2, messages: 900, subjects: 30, payload: 16},
		"large":         {streams: 2, messages: 20, subjects: 5, payload: 5000, gaps: true},
	}
	for name, sh := range shapes {
		t.Run(name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 1))
			d := random(r, sh)
			list := d.queries(r, 30/min(sh.streams, 10))
			for name, c := range variants(t) {
				t.Run(name, func(t *testing.T) { d.verifyWritten(t, c, list) })
			}
		})
	}
}

// verifyWritten writes the data and asks everything, without and with a cache and a very small one.
func (d *data) verifyWritten(t *testing.T, c segment.WriterConfig, list []query) {
	fs := vfs.NewMemory()
	summary := d.write(t, fs, c)
	for _, cache := range []*segment.Cache{nil, segment.NewCache(1 << 20), segment.NewCache(20 << 10)} {
		s := open(t, fs, segment.Config{Cache: cache, Keys: []*segment.Key{key(t, 9), key(t, 1)}})
		check(t, s, list)
		if cache != nil {
			check(t, s, list) // from the cache
		}
		checkCold(t, s.Cached(), list)
		ok(t, s.Verify())
		if got := s.Summary(); !reflect.DeepEqual(got, summary) {
			t.Errorf("summary of the open file is %+v, of the written one %+v", got, summary)
		}
	}
	for i, stream := range d.streams {
		if got := summary.Extents[i]; got != d.extent(stream) {
			t.Errorf("extent is %+v, want %+v", got, d.extent(stream))
		}
	}
}
