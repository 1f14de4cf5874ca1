package jetstream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/server/servertest"
)

// make creates a stream, which must go well.
func (s *site) make(config string) {
	s.t.Helper()
	name := strings.Split(config, `"`)[3]
	if r := s.ask("STREAM.CREATE."+name, config); r.code != 0 {
		s.t.Fatalf("create %s: %d %s", config, r.code, r.text)
	}
}

// put stores a message, which must go well. Fields are names and values of headers.
func (s *site) put(subject, payload string, fields ...string) {
	s.t.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(payload)
	for i := 0; i < len(fields); i += 2 {
		m.Header.Set(fields[i], fields[i+1])
	}
	answer, err := s.conn.RequestMsg(m, servertest.Patience)
	if err != nil || strings.Contains(string(answer.Data), `"error"`) {
		s.t.Fatalf("publish to %s: %s, %v", subject, answer.Data, err)
	}
}

// content is what a stream has: sequence, subject and payload of each message.
func (s *site) content(name string) string {
	s.t.Helper()
	ctx, js := s.client()
	stream, err := js.Stream(ctx, name)
	if err != nil {
		s.t.Fatal(err)
	}
	state := stream.CachedInfo().State
	var all []string
	for seq := state.FirstSeq; seq > 0 && seq <= state.LastSeq; seq++ {
		if m, err := stream.GetMsg(ctx, seq); err == nil {
			all = append(all, fmt.Sprintf("%d %s %s", m.Sequence, m.Subject, m.Data))
		}
	}
	return strings.Join(all, ", ")
}

// becomes waits until a stream has just this.
func (s *site) becomes(name, want string) {
	s.t.Helper()
	got := ""
	servertest.Eventually(s.t, fmt.Sprintf("%s to have %q", name, want), func() bool {
		got = s.content(name)
		return got == want
	})
	if got != want {
		s.t.Fatalf("%s has %q", name, got)
	}
}

func TestMirror(t *testing.T) {
	for _, storage := range []string{"file", "memory"} {
		t.Run(storage, func(t *testing.T) {
			s := newSite(t, "")
			s.make(`{"name":"O","subjects":["o.>"],"storage":"` + storage + `"}`)
			for i := range 4 {
				s.put(fmt.Sprintf("o.%d", i+1), "x")
			}
			s.ask("STREAM.MSG.DELETE.O", `{"seq":2}`)
			s.make(`{"name":"M","storage":"` + storage + `","mirror":{"name":"O"}}`)
			s.becomes("M", "1 o.1 x, 3 o.3 x, 4 o.4 x")
			s.put("o.5", "y", "Nats-Expected-Last-Sequence", "4")
			s.becomes("M", "1 o.1 x, 3 o.3 x, 4 o.4 x, 5 o.5 y")
			s.ask("STREAM.MSG.DELETE.O", `{"seq":5}`)
			s.ask("STREAM.PURGE.O", "")
			s.put("o.6", "z")
			s.becomes("M", "1 o.1 x, 3 o.3 x, 4 o.4 x, 5 o.5 y, 6 o.6 z")
			for _, name := range []string{"O", "M"} {
				if r := s.ask("CONSUMER.NAMES."+name, ""); !strings.Contains(string(r.raw), `"consumers":[]`) {
					t.Errorf("consumers of %s: %s", name, r.raw)
				}
			}
			s.ask("STREAM.DELETE.O", "")
			s.make(`{"name":"O","subjects":["o.>"],"first_seq":9}`)
			s.put("o.9", "new")
			s.becomes("M", "1 o.1 x, 3 o.3 x, 4 o.4 x, 5 o.5 y, 6 o.6 z, 9 o.9 new")
		})
	}
}

// TestMirrorRestart sees that a mirror goes on where it was, and its times are the origin's.
func TestMirrorRestart(t *testing.T) {
	s := newSite(t, "")
	s.make(`{"name":"M","mirror":{"name":"O"}}`) // before there is an origin
	s.make(`{"name":"O","subjects":["o"]}`)
	s.put("o", "one")
	s.becomes("M", "1 o one")
	s.restart()
	s.put("o", "two")
	s.becomes("M", "1 o one, 2 o two")
	ctx, js := s.client()
	for seq := range uint64(2) {
		var times []string
		for _, name := range []string{"O", "M"} {
			stream, err := js.Stream(ctx, name)
			no(t, err)
			m, err := stream.GetMsg(ctx, seq+1)
			no(t, err)
			times = append(times, m.Time.String())
		}
		if times[0] != times[1] {
			t.Errorf("message %d: times %v", seq+1, times)
		}
	}
}

// TestMirrorConsumers sees that consumers of a mirror get what it stores, and that it is published again.
func TestMirrorConsumers(t *testing.T) {
	s := newSite(t, "")
	s.make(`{"name":"O","subjects":["o.>"]}`)
	s.make(`{"name":"M","mirror":{"name":"O"},"republish":{"src":"o.>","dest":"again.>"}}`)
	again, err := s.conn.SubscribeSync("again.>")
	no(t, err)
	ctx, js := s.client()
	c, err := js.CreateConsumer(ctx, "M", jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy})
	no(t, err)
	for i := range 3 {
		s.put(fmt.Sprintf("o.%d", i), "x")
		m, err := c.Next(jetstream.FetchMaxWait(servertest.Patience))
		no(t, err)
		if meta, _ := m.Metadata(); meta.Sequence.Stream != uint64(i+1) || meta.Stream != "M" {
			t.Errorf("got %+v", meta)
		}
		r, err := again.NextMsg(servertest.Patience)
		no(t, err)
		if r.Subject != fmt.Sprintf("again.%d", i) || r.Header.Get("Nats-Stream") != "M" {
			t.Errorf("published again: %s %v", r.Subject, r.Header)
		}
	}
}

func TestPromotedMirror(t *testing.T) {
	s := newSite(t, "")
	s.make(`{"name":"O","subjects":["o.>"]}`)
	s.put("o.1", "x")
	s.make(`{"name":"M","mirror":{"name":"O"}}`)
	s.becomes("M", "1 o.1 x")
	if r := s.ask("STREAM.UPDATE.M", `{"name":"M","subjects":["m.>"]}`); r.code != 0 || strings.Contains(string(r.raw), `"mirror":`) {
		t.Fatalf("promote: %s", r.raw)
	}
	s.put("o.2", "not copied")
	s.put("m.1", "own")
	s.becomes("M", "1 o.1 x, 2 m.1 own")
	if r := s.ask("STREAM.UPDATE.M", `{"name":"M","mirror":{"name":"O"}}`); r.code != 10055 {
		t.Errorf("a mirror again: %d %s", r.code, r.text)
	}
}

func TestSources(t *testing.T) {
	s := newSite(t, "")
	s.make(`{"name":"A","subjects":["a.>"]}`)
	s.make(`{"name":"B","subjects":["b.>"]}`)
	s.put("a.1", "one")
	s.put("a.x", "not wanted")
	s.make(`{"name":"S","subjects":["s.>"],"sources":[
		{"name":"A","filter_subject":"a.*"},
		{"name":"A","subject_transforms":[{"src":"a.deep.*","dest":"s.deep.$1"},{"src":"a.plain.>","dest":""}]}]}`)
	s.becomes("S", "1 a.1 one, 2 a.x not wanted")
	s.put("a.deep.2", "two")
	s.becomes("S", "1 a.1 one, 2 a.x not wanted, 3 s.deep.2 two")
	s.put("s.own", "three")
	s.put("a.plain.4.4", "four")
	s.becomes("S", "1 a.1 one, 2 a.x not wanted, 3 s.deep.2 two, 4 s.own three, 5 a.plain.4.4 four")
	// Another source comes, and one goes.
	s.put("b.1", "five")
	if r := s.ask("STREAM.UPDATE.S", `{"name":"S","subjects":["s.>"],"sources":[{"name":"A","filter_subject":"a.*"},{"name":"B"}]}`); r.code != 0 {
		t.Fatalf("update: %s", r.text)
	}
	s.becomes("S", "1 a.1 one, 2 a.x not wanted, 3 s.deep.2 two, 4 s.own three, 5 a.plain.4.4 four, 6 b.1 five")
	s.put("a.deep.3", "not copied")
	s.restart()
	s.put("a.5", "six")
	s.becomes("S", "1 a.1 one, 2 a.x not wanted, 3 s.deep.2 two, 4 s.own three, 5 a.plain.4.4 four, 6 b.1 five, 7 a.5 six")
	// What was purged does not come again.
	s.ask("STREAM.PURGE.S", "")
	s.restart()
	s.put("b.2", "seven")
	s.becomes("S", "8 b.2 seven")
	// A source that is made anew is copied from its beginning.
	s.ask("STREAM.DELETE.B", "")
	s.make(`{"name":"B","subjects":["b.>"]}`)
	s.put("b.1", "eight")
	s.becomes("S", "8 b.2 seven, 9 b.1 eight")
	r := s.ask("STREAM.INFO.S", "")
	for _, want := range []string{`"name":"A","lag":0,"seq":6,"active":`, `"filter_subject":"a.*"`, `"name":"B","lag":0,"seq":1,"active":`} {
		if !strings.Contains(string(r.raw), want) {
			t.Errorf("info has no %s: %s", want, r.raw)
		}
	}
}

// TestSourcesOfQueues sees that what is copied from streams whose messages go when they are acknowledged goes there,
// and not before it is here.
func TestSourcesOfQueues(t *testing.T) {
	s := newSite(t, "")
	s.make(`{"name":"W","subjects":["w.>"],"retention":"workqueue"}`)
	s.make(`{"name":"I","subjects":["i.>"],"retention":"interest"}`)
	s.put("w.1", "x")
	s.make(`{"name":"SW","sources":[{"name":"W"}]}`)
	s.make(`{"name":"SI","sources":[{"name":"I"}]}`)
	s.becomes("SW", "1 w.1 x")
	servertest.Eventually(t, "interest", func() bool {
		return strings.Contains(string(s.ask("STREAM.INFO.SI", "").raw), `"sources":[{"name":"I","lag":0,"active":`) &&
			!strings.Contains(string(s.ask("STREAM.INFO.SI", "").raw), `"active":-1`)
	})
	s.put("i.1", "y")
	s.becomes("SI", "1 i.1 y")
	s.becomes("W", "")
	s.becomes("I", "")
	s.restart()
	s.put("w.2", "x2")
	s.put("i.2", "y2")
	s.becomes("SW", "1 w.1 x, 2 w.2 x2")
	s.becomes("SI", "1 i.1 y, 2 i.2 y2")
	s.becomes("W", "")
	s.becomes("I", "")
}

func TestSourceCounters(t *testing.T) {
	s := newSite(t, "")
	s.make(`{"name":"A","subjects":["a.>"],"allow_msg_counter":true}`)
	s.make(`{"name":"B","subjects":["b.>"],"allow_msg_counter":true}`)
	s.make(`{"name":"S","allow_msg_counter":true,"sources":[
		{"name":"A","subject_transforms":[{"src":"a.*","dest":"sum.$1"}]},{"name":"B","subject_transforms":[{"src":"b.*","dest":"sum.$1"}]}]}`)
	for _, by := range []string{"5", "-2"} {
		s.put("a.n", "", "Nats-Incr", by)
		s.put("b.n", "", "Nats-Incr", by)
	}
	last := func() string { return string(s.ask("STREAM.MSG.GET.S", `{"last_by_subj":"sum.n"}`).raw) }
	const six = "eyJ2YWwiOiI2In0" // {"val":"6"}
	servertest.Eventually(t, "the sum", func() bool { return strings.Contains(last(), six) })
	s.restart()
	s.put("a.n", "", "Nats-Incr", "1")
	const seven = "eyJ2YWwiOiI3In0"
	servertest.Eventually(t, "the sum after a restart", func() bool { return strings.Contains(last(), seven) })
}

func TestMirroredBuckets(t *testing.T) {
	s := newSite(t, "")
	ctx, js := s.client()
	origin, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "ORIGIN", History: 5})
	no(t, err)
	_, err = origin.PutString(ctx, "k", "v1")
	no(t, err)
	mirror, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "MIRROR", Mirror: &jetstream.StreamSource{
		Name: "ORIGIN", SubjectTransforms: []jetstream.SubjectTransformConfig{{Source: "$KV.ORIGIN.>", Destination: "$KV.MIRROR.>"}},
	}})
	no(t, err)
	sum, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "SUM", Sources: []*jetstream.StreamSource{{Name: "ORIGIN"}}})
	no(t, err)
	for i := range 3 {
		value := fmt.Sprintf("v%d", i+2)
		_, err = origin.PutString(ctx, "k", value)
		no(t, err)
		for _, b := range []jetstream.KeyValue{mirror, sum} {
			servertest.Eventually(t, b.Bucket()+" to have "+value, func() bool {
				e, err := b.Get(ctx, "k")
				return err == nil && string(e.Value()) == value
			})
		}
	}
	no(t, origin.Delete(ctx, "k"))
	servertest.Eventually(t, "the key to go", func() bool {
		_, err := mirror.Get(ctx, "k")
		return err == jetstream.ErrKeyNotFound
	})
}

func TestMirroredObjects(t *testing.T) {
	s := newSite(t, "")
	ctx, js := s.client()
	origin, err := js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "FILES"})
	no(t, err)
	data := []byte(strings.Repeat("0123456789abcdef", 40_000))
	_, err = origin.PutBytes(ctx, "f", data)
	no(t, err)
	s.make(`{"name":"OBJ_COPY","mirror":{"name":"OBJ_FILES","subject_transforms":[{"src":"$O.FILES.>","dest":"$O.COPY.>"}]},"allow_direct":true}`)
	backup, err := js.ObjectStore(ctx, "COPY")
	no(t, err)
	servertest.Eventually(t, "the object", func() bool {
		got, err := backup.GetBytes(ctx, "f")
		return err == nil && string(got) == string(data)
	})
}

// TestRefusedSources asks for mirrors and sources that cannot be.
func TestRefusedSources(t *testing.T) {
	s := newSite(t, "")
	s.make(`{"name":"O","subjects":["o.>"],"max_msg_size":100,"allow_direct":true}`)
	s.make(`{"name":"C1","subjects":["c1"],"sources":[{"name":"C2"}]}`)
	s.make(`{"name":"C3","subjects":["c3"],"sources":[{"name":"C4","filter_subject":"c4"}]}`)
	s.make(`{"name":"C5","sources":[{"name":"C6"}]}`)
	s.make(`{"name":"M1","mirror":{"name":"O"}}`)
	tests := []struct {
		config string
		code   int
		text   string
	}{
		{`{"name":"T","mirror":{"name":"O"},"max_msg_size":50}`, 10030, "stream mirror must have max message size >= source"},
		{`{"name":"T","sources":[{"name":"O"}],"max_msg_size":50}`, 10046, "stream source must have max message size >= target"},
		{`{"name":"T","sources":[{"name":"O"}],"max_msg_size":100}`, 0, ""},
		{`{"name":"T","mirror":{"name":"O"},"subjects":["t"]}`, 10034, ""},
		{`{"name":"T","mirror":{"name":"O"},"sources":[{"name":"O"}]}`, 10031, ""},
		{`{"name":"T","mirror":{"name":"O","opt_start_seq":1,"opt_start_time":"2020-01-01T00:00:00Z"}}`, 10032, ""},
		{`{"name":"T","mirror":{"name":"T"}}`, 10052, "detected cycle"},
		{`{"name":"T","sources":[{"name":"T"}]}`, 10052, "detected cycle"},
		{`{"name":"C2","subjects":["c2"],"sources":[{"name":"C1"}]}`, 10052, "detected cycle"},
		{`{"name":"C4","subjects":["c4"],"sources":[{"name":"C3","filter_subject":"c3"}]}`, 0, ""},
		{`{"name":"C6","mirror":{"name":"C5"}}`, 10052, "detected cycle"},
		{`{"name":"T","sources":[{"name":"O"},{"name":"M1"}]}`, 10052, "detected cycle"},
		{`{"name":"T","mirror":{"name":"O","external":{"api":"$JS.API","deliver":"x"}}}`, 10021, "stream external api prefix $JS.API must not overlap with $JS.API"},
		{`{"name":"T","mirror":{"name":"O","external":{"api":"$JS.*.API","deliver":"x"}}}`, 10052, `stream external api prefix "$JS.*.API" must be a valid subject without wildcards`},
		{`{"name":"T","mirror":{"name":"O","external":{"api":"$JS.D.API","deliver":"x.*"}}}`, 10024, "stream external delivery prefix x.* must not contain wildcards"},
		{`{"name":"T","subjects":["t.>"],"sources":[{"name":"O","external":{"api":"$JS.D.API","deliver":"t.x"}}]}`, 10022, "stream external delivery prefix t.x overlaps with stream subject t.>"},
		{`{"name":"T","mirror":{"name":"O","consumer":{"name":"x"}}}`, 10213, ""},
		{`{"name":"T","mirror":{"name":"O","consumer":{"name":"x","deliver_subject":"y.*"}}}`, 10213, ""},
		{`{"name":"T","mirror":{"name":"O","filter_subject":"o.a","consumer":{"name":"x","deliver_subject":"y"}}}`, 10213, ""},
		{`{"name":"T","sources":[{"name":"O","consumer":{"deliver_subject":"y"}}]}`, 10215, ""},
		{`{"name":"T","sources":[{"name":"O","opt_start_seq":3,"consumer":{"name":"x","deliver_subject":"y"}}]}`, 10215, ""},
		{`{"name":"T","sources":[{"name":"O"},{"name":"O"}]}`, 10140, ""},
	}
	for _, tt := range tests {
		name := strings.Split(tt.config, `"`)[3]
		r := s.ask("STREAM.CREATE."+name, tt.config)
		if r.code != tt.code || tt.text != "" && r.text != tt.text {
			t.Errorf("%s: got %d %q, want %d %q", tt.config, r.code, r.text, tt.code, tt.text)
		}
		if r.code == 0 {
			s.ask("STREAM.DELETE."+name, "")
		}
	}
	for config, want := range map[string]string{
		`{"name":"D","mirror":{"name":"O"}}`:    `"mirror_direct":true`,
		`{"name":"E","mirror":{"name":"none"}}`: `"mirror_direct":false`,
	} {
		if r := s.ask("STREAM.CREATE."+strings.Split(config, `"`)[3], config); !strings.Contains(string(r.raw), want) {
			t.Errorf("%s: got %s, want %s", config, r.raw, want)
		}
	}
}

// TestForgottenSources sees that streams whose messages wait for a mirror or source do not wait for one that has gone.
func TestForgottenSources(t *testing.T) {
	for _, how := range []string{"delete", "update"} {
		t.Run(how, func(t *testing.T) {
			s := newSite(t, "")
			s.make(`{"name":"I","subjects":["i.>"],"retention":"interest"}`)
			s.make(`{"name":"S","subjects":["s"],"sources":[{"name":"I"}]}`)
			s.put("i.0", "x")
			servertest.Eventually(t, "messages to be copied", func() bool {
				s.put("i.1", "x")
				return strings.Contains(s.content("S"), "i.1 x")
			})
			if how == "delete" {
				s.ask("STREAM.DELETE.S", "")
			} else if r := s.ask("STREAM.UPDATE.S", `{"name":"S","subjects":["s"]}`); r.code != 0 {
				t.Fatalf("update: %s", r.text)
			}
			servertest.Eventually(t, "messages to be kept for nobody", func() bool {
				s.put("i.2", "y")
				return s.content("I") == ""
			})
		})
	}
}

// TestExternalSource reaches an origin by the name of a domain, with a prefix for what it delivers.
func TestExternalSource(t *testing.T) {
	dir := t.TempDir()
	s := &site{t: t, dir: dir, config: fmt.Sprintf("jetstream { store_dir: %q, sync: os, domain: D }", dir)}
	s.open()
	s.make(`{"name":"O","subjects":["o.>"]}`)
	s.put("o.1", "x")
	delivered, err := s.conn.SubscribeSync("in.>")
	no(t, err)
	s.make(`{"name":"M","mirror":{"name":"O","external":{"api":"$JS.D.API","deliver":"in"}}}`)
	s.make(`{"name":"S","sources":[{"name":"O","external":{"api":"$JS.D.API","deliver":"in"}}]}`)
	s.becomes("M", "1 o.1 x")
	s.becomes("S", "1 o.1 x")
	s.restart()
	s.put("o.2", "y")
	s.becomes("M", "1 o.1 x, 2 o.2 y")
	s.becomes("S", "1 o.1 x, 2 o.2 y")
	if n, _, err := delivered.Pending(); err == nil && n == 0 {
		t.Error("nothing was delivered below the prefix")
	}
}

// TestMirrorLimits sees that a mirror stops where the server has no room for it, and says so.
func TestMirrorLimits(t *testing.T) {
	dir := t.TempDir()
	s := &site{t: t, dir: dir, config: fmt.Sprintf("jetstream { store_dir: %q, sync: os, max_file_store: 1000000 }", dir)}
	s.open()
	s.make(`{"name":"O","subjects":["o"],"storage":"memory"}`)
	for range 200 {
		s.put("o", strings.Repeat("x", 10_000))
	}
	s.make(`{"name":"M","mirror":{"name":"O"}}`)
	servertest.Eventually(t, "the mirror to be full", func() bool {
		return strings.Contains(string(s.ask("STREAM.INFO.M", "").raw), `"err_code":10023`)
	})
	if st := s.state("M"); st.Bytes > 1_000_000 || st.Messages == 0 {
		t.Errorf("the mirror has %+v", st)
	}
}
