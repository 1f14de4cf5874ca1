package bench_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fakeStreams is as much JetStream as the scenarios need that store and read messages. Everything
// is in memory and nothing ever expires. It mistreats messages as its faults say. The mutex of the
// fake guards it.
type fakeStreams struct {
	// ack changes an acknowledgement; one that it empties is not sent.
	ack func(ack map[string]any)
	// deliver changes delivery number n of all consumers, counted from 1.
	deliver fault
	// info changes the information on a stream or consumer.
	info func(info map[string]any)
	// refuse is the error for the requests whose subject contains it, after some that are served.
	refuse string
	served int

	streams map[string]*fakeStream
	made    int // streams that there ever were
	sent    int // deliveries
}

type fakeStream struct {
	config    map[string]any
	subjects  []string
	messages  []message // number i has sequence i+1
	consumers map[string]*fakeConsumer
}

type fakeConsumer struct {
	name     string
	config   map[string]any
	filter   string
	next     int // index of the message that comes next
	sent     int
	acked    map[int]bool
	requests []fakeRequest
}

type fakeRequest struct {
	inbox string
	batch int
}

const apiPrefix = "$JS.API."

// handle serves a message if it is for JetStream, and reports whether it was.
func (j *fakeStreams) handle(f *fake, m message) bool {
	if api, ok := strings.CutPrefix(m.subject, apiPrefix); ok {
		j.request(f, strings.Split(api, "."), m)
		return true
	}
	if strings.HasPrefix(m.subject, "$JS.ACK.") {
		words := strings.Split(m.subject, ".")
		if s := j.streams[words[2]]; s != nil && s.consumers[words[3]] != nil {
			seq, _ := strconv.Atoi(words[5])
			s.consumers[words[3]].acked[seq] = true
		}
		return true
	}
	for name, s := range j.streams {
		if slices.ContainsFunc(s.subjects, func(p string) bool { return matches(p, m.subject) }) {
			j.store(f, name, s, m)
			return true
		}
	}
	return false
}

// store keeps a message and acknowledges it.
func (j *fakeStreams) store(f *fake, name string, s *fakeStream, m message) {
	s.messages = append(s.messages, m)
	ack := map[string]any{"stream": name, "seq": len(s.messages)}
	if j.ack != nil {
		j.ack(ack)
	}
	if len(ack) > 0 {
		f.answer(m.reply, ack)
	}
	for _, c := range s.consumers {
		j.serve(f, name, s, c)
	}
}

// answer routes a JSON document.
func (f *fake) answer(subject string, document map[string]any) {
	data, _ := json.Marshal(document)
	f.route(message{subject: subject, data: data})
}

// request serves a request of the API, whose words stand behind the prefix.
func (j *fakeStreams) request(f *fake, words []string, m message) {
	if j.refuse != "" && strings.Contains(m.subject, j.refuse) {
		if j.served--; j.served < 0 {
			f.answer(m.reply, map[string]any{"error": map[string]any{"code": 500, "err_code": 10000, "description": "does not feel like it"}})
			return
		}
	}
	var body map[string]any
	_ = json.Unmarshal(m.data[m.header:], &body) // not every request has a body
	if words[0] == "INFO" {
		f.answer(m.reply, map[string]any{"streams": len(j.streams)})
		return
	}
	name := words[2]
	if words[0] == "CONSUMER" && words[1] == "MSG" {
		name = words[3]
	}
	s := j.streams[name]
	if s == nil && words[1] != "CREATE" {
		f.answer(m.reply, map[string]any{"error": map[string]any{"code": 404, "err_code": 10059, "description": "stream not found"}})
		return
	}
	switch words[0] + "." + words[1] {
	case "STREAM.CREATE":
		f.answer(m.reply, j.create(name, body))
	case "STREAM.INFO":
		f.answer(m.reply, j.streamInfo(s))
	case "STREAM.DELETE":
		delete(j.streams, name)
		f.answer(m.reply, map[string]any{"success": true})
	case "CONSUMER.CREATE":
		f.answer(m.reply, j.createConsumer(name, words[3], s, body["config"].(map[string]any)))
	case "CONSUMER.INFO":
		f.answer(m.reply, j.consumerInfo(name, words[3], s))
	case "CONSUMER.DELETE":
		delete(s.consumers, words[3])
		f.answer(m.reply, map[string]any{"success": true})
	case "CONSUMER.MSG":
		c := s.consumers[words[4]]
		c.requests = append(c.requests, fakeRequest{m.reply, int(body["batch"].(float64))})
		j.serve(f, name, s, c)
	case "DIRECT.GET":
		j.get(f, name, s, strings.Join(words[3:], "."), m.reply)
	}
}

func (j *fakeStreams) create(name string, config map[string]any) map[string]any {
	s := &fakeStream{config: config, consumers: map[string]*fakeConsumer{}}
	for _, subject := range config["subjects"].([]any) {
		s.subjects = append(s.subjects, subject.(string))
	}
	if j.streams == nil {
		j.streams = map[string]*fakeStream{}
	}
	j.streams[name] = s
	j.made++
	return j.streamInfo(s)
}

func (j *fakeStreams) streamInfo(s *fakeStream) map[string]any {
	kept := len(s.messages)
	if s.config["max_msgs_per_subject"] == 1.0 {
		subjects := map[string]bool{}
		for _, m := range s.messages {
			subjects[m.subject] = true
		}
		kept = len(subjects)
	}
	info := map[string]any{
		"config": s.config, "created": time.Unix(1, 0),
		"state": map[string]any{"messages": kept, "last_seq": len(s.messages)},
	}
	if j.info != nil {
		j.info(info)
	}
	return info
}

func (j *fakeStreams) createConsumer(stream, name string, s *fakeStream, config map[string]any) map[string]any {
	filter, _ := config["filter_subject"].(string)
	s.consumers[name] = &fakeConsumer{name: name, config: config, filter: filter, acked: map[int]bool{}}
	return j.consumerInfo(stream, name, s)
}

func (j *fakeStreams) consumerInfo(stream, name string, s *fakeStream) map[string]any {
	c := s.consumers[name]
	floor := 0
	for c.acked[floor+1] {
		floor++
	}
	pending := 0
	for _, m := range s.messages[c.next:] {
		if c.wants(m) {
			pending++
		}
	}
	info := map[string]any{
		"stream_name": stream, "name": name, "config": c.config, "created": time.Unix(1, 0),
		"delivered": map[string]any{"consumer_seq": c.sent, "stream_seq": c.next}, "num_pending": pending,
		"ack_floor":       map[string]any{"consumer_seq": floor, "stream_seq": floor},
		"num_ack_pending": c.sent - len(c.acked),
	}
	if j.info != nil {
		j.info(info)
	}
	return info
}

func (c *fakeConsumer) wants(m message) bool { return c.filter == "" || matches(c.filter, m.subject) }

// serve delivers what is asked for and there.
func (j *fakeStreams) serve(f *fake, stream string, s *fakeStream, c *fakeConsumer) {
	for ; len(c.requests) > 0 && c.next < len(s.messages); c.next++ {
		m := s.messages[c.next]
		if !c.wants(m) {
			continue
		}
		c.sent++
		j.sent++
		m.reply = fmt.Sprintf("$JS.ACK.%s.%s.1.%d.%d.1.%d", stream, c.name, c.next+1, c.sent, len(s.messages)-c.next-1)
		list := []message{m}
		if j.deliver != nil {
			list = j.deliver(j.sent, m)
		}
		for _, altered := range list {
			f.deliverTo(c.requests[0].inbox, altered)
		}
		if c.requests[0].batch--; c.requests[0].batch == 0 {
			c.requests = c.requests[1:]
		}
	}
}

// deliverTo gives a message to those who subscribed to another subject.
func (f *fake) deliverTo(inbox string, m message) {
	for _, sub := range f.subs {
		if matches(sub.pattern, inbox) {
			sub.deliver(m)
		}
	}
}

// get answers with the last message of a subject.
func (j *fakeStreams) get(f *fake, stream string, s *fakeStream, subject, reply string) {
	for i, m := range slices.Backward(s.messages) {
		if m.subject != subject {
			continue
		}
		j.sent++
		list := []message{m}
		if j.deliver != nil {
			list = j.deliver(j.sent, m)
		}
		for _, m := range list {
			header := fmt.Sprintf("NATS/1.0\r\nNats-Stream: %s\r\nNats-Subject: %s\r\nNats-Sequence: %d\r\nNats-Time-Stamp: 2026-01-02T03:04:05Z\r\n\r\n",
				stream, m.subject, i+1)
			f.route(message{subject: reply, header: len(header), data: append([]byte(header), m.data...)})
		}
		return
	}
}

// left are the names of the streams that were not removed.
func (f *fake) left() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.streams.streams))
}
