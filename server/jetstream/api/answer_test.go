package api_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// stamp returns a time of one day, as it stands in the examples.
func stamp(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return api.At(at.UnixNano())
}

// exampleStream returns a stream's configuration as it is stored.
func exampleStream(t *testing.T) *config.Stream {
	t.Helper()
	return &config.Stream{
		Name: "S", Subjects: []string{"s.>"}, MaxConsumers: -1, MaxMessages: -1, MaxBytes: -1, MaxPerSubject: -1, MaxMessageBytes: -1,
		Storage: config.MemoryStorage, Replicas: 1, DuplicateWindow: 2 * time.Minute, Metadata: map[string]string{"_nats.req.level": "0"},
	}
}

// The configuration of that stream as answers and as lists show it.
const (
	streamConfig = `"config":{"name":"S","subjects":["s.\u003e"],"retention":"limits","max_consumers":-1,"max_msgs":-1,"max_bytes":-1,"max_age":0,` +
		`"max_msgs_per_subject":-1,"max_msg_size":-1,"discard":"old","storage":"memory","num_replicas":1,"duplicate_window":120000000000,` +
		`"compression":"none","allow_direct":false,"mirror_direct":false,"sealed":false,"deny_delete":false,"deny_purge":false,` +
		`"allow_rollup_hdrs":false,"consumer_limits":{},"allow_msg_ttl":false,"metadata":`
	shownConfig  = streamConfig + `{"_nats.level":"5","_nats.req.level":"0","_nats.ver":"2.15.2"}}`
	listedConfig = streamConfig + `{"_nats.req.level":"0"}}`
	emptyState   = `"state":{"messages":0,"bytes":0,"first_seq":0,"first_ts":"0001-01-01T00:00:00Z","last_seq":0,` +
		`"last_ts":"0001-01-01T00:00:00Z","consumer_count":0}`
	created = `"created":"2026-11-30T00:08:55.272316837Z"`
)

// TestStreamAnswers pins what is said about streams.
func TestStreamAnswers(t *testing.T) {
	stored := exampleStream(t)
	shown := &api.StreamInfo{
		Config: api.ShownStream(stored, "2.15.2"), Created: stamp(t, "2026-11-30T00:08:55.272316837Z"), Now: stamp(t, "2026-11-30T00:08:55.5Z"),
	}
	led, listed := *shown, *shown
	led.Cluster = &api.Cluster{Leader: "inc"}
	led.State = api.StreamState{
		Messages: 3, Bytes: 117, FirstSequence: 1, FirstTime: stamp(t, "2026-11-30T00:12:25.858594015Z"), LastSequence: 3,
		LastTime: stamp(t, "2026-11-30T00:12:41.100226146Z"), SubjectCount: 2, Subjects: map[string]uint64{"s.a": 2, "s.b": 1}, Consumers: 3,
	}
	led.Sync = "always"
	listed.Config = stored
	listed.Mirror = &api.SourceInfo{Name: "O", Active: api.Never}
	tests := []struct {
		name     string
		endpoint api.Endpoint
		answer   api.Answer
		want     string
	}{
		{
			"create", api.CallStreamCreate, &api.StreamCreateAnswer{StreamInfo: shown, DidCreate: true},
			`{"type":"io.nats.jetstream.api.v1.stream_create_response",` + shownConfig + "," + created + "," + emptyState + `,"ts":"2026-11-30T00:08:55.5Z","did_create":true}`,
		},
		{
			"update", api.CallStreamUpdate, &api.StreamAnswer{StreamInfo: shown},
			`{"type":"io.nats.jetstream.api.v1.stream_update_response",` + shownConfig + "," + created + "," + emptyState + `,"ts":"2026-11-30T00:08:55.5Z"}`,
		},
		{
			"info", api.CallStreamInfo, &api.StreamInfoAnswer{StreamInfo: &led, Paged: api.Paged{Total: 2, Limit: api.SubjectsPage}},
			`{"type":"io.nats.jetstream.api.v1.stream_info_response","total":2,"offset":0,"limit":100000,` + shownConfig + "," + created +
				`,"state":{"messages":3,"bytes":117,"first_seq":1,"first_ts":"2026-11-30T00:12:25.858594015Z","last_seq":3,` +
				`"last_ts":"2026-11-30T00:12:41.100226146Z","num_subjects":2,"subjects":{"s.a":2,"s.b":1},"consumer_count":3},` +
				`"cluster":{"leader":"inc"},"sync":"always","ts":"2026-11-30T00:08:55.5Z"}`,
		},
		{
			"list", api.CallStreamList, &api.StreamListAnswer{Streams: []*api.StreamInfo{&listed}, Paged: api.Paged{Total: 1, Limit: api.ListPage}},
			`{"type":"io.nats.jetstream.api.v1.stream_list_response","total":1,"offset":0,"limit":256,"streams":[{` + listedConfig + "," + created + "," + emptyState +
				`,"mirror":{"name":"O","lag":0,"active":-1},"ts":"2026-11-30T00:08:55.5Z"}]}`,
		},
		{
			"list of none", api.CallStreamList, &api.StreamListAnswer{Paged: api.Paged{Limit: api.ListPage}},
			`{"type":"io.nats.jetstream.api.v1.stream_list_response","total":0,"offset":0,"limit":256,"streams":[]}`,
		},
		{
			"names of none", api.CallStreamNames, &api.StreamNamesAnswer{Paged: api.Paged{Limit: api.NamesPage}},
			`{"type":"io.nats.jetstream.api.v1.stream_names_response","total":0,"offset":0,"limit":1024,"streams":null}`,
		},
		{"delete", api.CallStreamDelete, &api.PlainAnswer{Success: true}, `{"type":"io.nats.jetstream.api.v1.stream_delete_response","success":true}`},
		{"unpin", api.CallConsumerUnpin, &api.PlainAnswer{}, `{"type":"io.nats.jetstream.api.v1.consumer_unpin_response"}`},
		{"purge", api.CallStreamPurge, &api.PurgeAnswer{Success: true, Purged: 1}, `{"type":"io.nats.jetstream.api.v1.stream_purge_response","success":true,"purged":1}`},
		{
			"message", api.CallStreamMessageGet, &api.MessageAnswer{Message: &api.StoredMessage{
				Subject: "s.b", Sequence: 2, Header: []byte("NATS/1.0\r\nFoo: bar\r\n\r\n"), Data: []byte("xyz"), Time: stamp(t, "2026-11-30T00:12:25.858856308Z"),
			}},
			`{"type":"io.nats.jetstream.api.v1.stream_msg_get_response","message":{"subject":"s.b","seq":2,"hdrs":"TkFUUy8xLjANCkZvbzogYmFyDQoNCg==","data":"eHl6","time":"2026-11-30T00:12:25.858856308Z"}}`,
		},
		{
			"backup", api.CallStreamSnapshot, &api.SnapshotAnswer{Config: stored, State: &api.StreamState{}},
			`{"type":"io.nats.jetstream.api.v1.stream_snapshot_response",` + listedConfig + "," + emptyState + "}",
		},
		{
			"restore", api.CallStreamRestore, &api.RestoreAnswer{DeliverSubject: api.RestoreSubject("Y", "x")},
			`{"type":"io.nats.jetstream.api.v1.stream_restore_response","deliver_subject":"$JS.SNAPSHOT.RESTORE.Y.x"}`,
		},
		{
			"account", api.CallAccountInfo, &api.AccountInfoAnswer{AccountInfo: &api.AccountInfo{
				Usage: api.Usage{Store: 72, Streams: 2, Consumers: 1, Limits: api.Unlimited()}, API: api.APIStats{Level: api.Level, Total: 158, Errors: 102},
				Tiers: map[string]api.Tier{"R1": {Usage: api.Usage{Streams: 2}}}, Domain: "hub",
			}},
			`{"type":"io.nats.jetstream.api.v1.account_info_response","memory":0,"storage":72,"reserved_memory":0,"reserved_storage":0,"streams":2,"consumers":1,` +
				`"limits":{"max_memory":-1,"max_storage":-1,"max_streams":-1,"max_consumers":-1,"max_ack_pending":-1,"memory_max_stream_bytes":-1,` +
				`"storage_max_stream_bytes":-1,"max_bytes_required":false},"domain":"hub","api":{"level":5,"total":158,"errors":102},` +
				`"tiers":{"R1":{"memory":0,"storage":0,"reserved_memory":0,"reserved_storage":0,"streams":2,"consumers":0,"limits":{"max_memory":0,"max_storage":0,` +
				`"max_streams":0,"max_consumers":0,"max_ack_pending":0,"memory_max_stream_bytes":0,"storage_max_stream_bytes":0,"max_bytes_required":false}}}}`,
		},
		{
			"account purge", api.CallAccountPurge, &api.AccountPurgeAnswer{Initiated: true},
			`{"type":"io.nats.jetstream.api.v1.account_purge_response","initiated":true}`,
		},
		{
			"rescue", api.CallMetaRescue, &api.RescueAnswer{Server: "a", ServerID: "A", PreviousQuorum: 2, NewQuorum: 1},
			`{"type":"io.nats.jetstream.api.v1.meta_rescue_response","server":"a","server_id":"A","prev_quorum":2,"new_quorum":1}`,
		},
		{
			"what cannot be encoded", api.CallStreamCreate, &api.StreamCreateAnswer{StreamInfo: &api.StreamInfo{Config: &config.Stream{Storage: 9}}},
			`{"type":"io.nats.jetstream.api.v1.stream_create_response","error":{"code":503,"err_code":10077,"description":"encode the answer: json: error calling MarshalText for type config.Storage: there is no storage type 9"}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(tt.endpoint.Encode(tt.answer)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestConsumerAnswers pins what is said about consumers. The order of the members of a configuration is ours.
func TestConsumerAnswers(t *testing.T) {
	active := stamp(t, "2026-11-30T00:22:56.558033037Z")
	stored := &config.Consumer{
		Durable: "Q", Name: "Q", Ack: config.AckExplicit, AckWait: 30 * time.Second, MaxDeliver: -1, Sampling: "100", MaxWaiting: 512, MaxAckPending: 1000,
		PriorityPolicy: config.PriorityPinned, PriorityGroups: []string{"a"}, PriorityTimeout: 2 * time.Minute,
	}
	api.PersistConsumer(stored)
	info := &api.ConsumerInfo{
		Stream: "Z", Name: "Q", Created: stamp(t, "2026-11-30T00:22:56.156205858Z"), Config: api.ShownConsumer(stored, "2.15.2"),
		Delivered: api.Position{Consumer: 2, Stream: 2, LastActive: &active}, AckPending: 2, Now: stamp(t, "2026-11-30T00:22:56.959500367Z"),
		PriorityGroups: []api.PriorityGroup{{Group: "a", PinnedID: "QoRQZzqzU24HtiRLYA8l7s", PinnedAt: stamp(t, "2026-11-30T00:22:56.557988301Z")}, {Group: "b"}},
	}
	rest := `"stream_name":"Z","name":"Q","created":"2026-11-30T00:22:56.156205858Z","config":{"durable_name":"Q","name":"Q","deliver_policy":"all",` +
		`"ack_policy":"explicit","ack_wait":30000000000,"max_deliver":-1,"replay_policy":"instant","sample_freq":"100","max_waiting":512,` +
		`"max_ack_pending":1000,"num_replicas":0,"metadata":{"_nats.level":"5","_nats.req.level":"1","_nats.ver":"2.15.2"},"priority_groups":["a"],` +
		`"priority_policy":"pinned_client","priority_timeout":120000000000},"delivered":{"consumer_seq":2,"stream_seq":2,` +
		`"last_active":"2026-11-30T00:22:56.558033037Z"},"ack_floor":{"consumer_seq":0,"stream_seq":0},"num_ack_pending":2,"num_redelivered":0,` +
		`"num_waiting":0,"num_pending":0,"ts":"2026-11-30T00:22:56.959500367Z","priority_groups":[{"group":"a",` +
		`"pinned_client_id":"QoRQZzqzU24HtiRLYA8l7s","pinned_ts":"2026-11-30T00:22:56.557988301Z"},{"group":"b","pinned_ts":"0001-01-01T00:00:00Z"}]`
	late := *info
	late.Lag = &api.Lag{Messages: 2, OldestUnacked: &active, Age: time.Second}
	late.Stalled = &api.Stalled{Reason: api.StalledBackoff, Until: &active}
	const p = `{"type":"io.nats.jetstream.api.v1.`
	tests := []struct {
		name     string
		endpoint api.Endpoint
		answer   api.Answer
		want     string
	}{
		{"info", api.CallConsumerInfo, &api.ConsumerInfoAnswer{ConsumerInfo: info}, p + `consumer_info_response",` + rest + "}"},
		{
			"info that explains", api.CallConsumerInfo, &api.ConsumerInfoAnswer{ConsumerInfo: &late},
			p + `consumer_info_response",` + rest + `,"lag":{"messages":2,"oldest_unacked":"2026-11-30T00:22:56.558033037Z","age":1000000000},` +
				`"stalled":{"reason":"backoff","until":"2026-11-30T00:22:56.558033037Z"}}`,
		},
		{"create", api.CallConsumerCreate, &api.ConsumerInfoAnswer{ConsumerInfo: info}, p + `consumer_create_response",` + rest + "}"},
		{"reset", api.CallConsumerReset, &api.ResetAnswer{ConsumerInfo: info, ResetSequence: 3}, p + `consumer_reset_response",` + rest + `,"reset_seq":3}`},
		{
			"list", api.CallConsumerList, &api.ConsumerListAnswer{Consumers: []*api.ConsumerInfo{info}, Paged: api.Paged{Total: 1, Limit: api.ListPage}},
			p + `consumer_list_response","total":1,"offset":0,"limit":256,"consumers":[{` + rest + "}]}",
		},
		{
			"names of none", api.CallConsumerNames, &api.ConsumerNamesAnswer{Paged: api.Paged{Limit: api.NamesPage}},
			p + `consumer_names_response","total":0,"offset":0,"limit":1024,"consumers":[]}`,
		},
		{
			"pause", api.CallConsumerPause, &api.PauseAnswer{Paused: true, Until: stamp(t, "2030-01-01T00:00:00Z"), Remaining: 97458664058814652},
			p + `consumer_pause_response","paused":true,"pause_until":"2030-01-01T00:00:00Z","pause_remaining":97458664058814652}`,
		},
		{"resume", api.CallConsumerPause, &api.PauseAnswer{}, p + `consumer_pause_response","paused":false,"pause_until":"0001-01-01T00:00:00Z"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.endpoint.Encode(tt.answer)
			var got, want any
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %s\nwant %s", text, tt.want)
			}
		})
	}
}

// TestRefusals pins the members that stand even in refusals.
func TestRefusals(t *testing.T) {
	const refusal = `","error":{"code":404,"err_code":10059,"description":"stream not found"}`
	tests := map[api.Endpoint]string{
		api.CallUnknown:              `system_response` + refusal + `}`,
		api.CallAccountInfo:          `account_info_response` + refusal + `}`,
		api.CallStreamInfo:           `stream_info_response` + refusal + `,"total":0,"offset":0,"limit":0}`,
		api.CallStreamCreate:         `stream_create_response` + refusal + `}`,
		api.CallStreamUpdate:         `stream_update_response` + refusal + `}`,
		api.CallStreamNames:          `stream_names_response` + refusal + `,"total":0,"offset":0,"limit":0,"streams":null}`,
		api.CallStreamList:           `stream_list_response` + refusal + `,"total":0,"offset":0,"limit":0,"streams":[]}`,
		api.CallStreamDelete:         `stream_delete_response` + refusal + `}`,
		api.CallStreamPurge:          `stream_purge_response` + refusal + `,"purged":0}`,
		api.CallStreamMessageGet:     `stream_msg_get_response` + refusal + `}`,
		api.CallStreamSnapshot:       `stream_snapshot_response` + refusal + `}`,
		api.CallStreamRestore:        `stream_restore_response` + refusal + `,"deliver_subject":""}`,
		api.CallConsumerInfo:         `consumer_info_response` + refusal + `}`,
		api.CallConsumerNames:        `consumer_names_response` + refusal + `,"total":0,"offset":0,"limit":0,"consumers":[]}`,
		api.CallConsumerList:         `consumer_list_response` + refusal + `,"total":0,"offset":0,"limit":0,"consumers":[]}`,
		api.CallConsumerPause:        `consumer_pause_response` + refusal + `,"paused":false,"pause_until":"0001-01-01T00:00:00Z"}`,
		api.CallConsumerReset:        `consumer_reset_response` + refusal + `,"reset_seq":0}`,
		api.CallConsumerUnpin:        `consumer_unpin_response` + refusal + `}`,
		api.CallConsumerPeerEvacuate: `consumer_evacuate_peer_response` + refusal + `}`,
	}
	for e, want := range tests {
		want = `{"type":"io.nats.jetstream.api.v1.` + want
		if got := string(e.Refuse(api.NewError(api.StreamNotFound))); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", e, got, want)
		}
	}
	for e := api.CallUnknown; e <= api.CallAccountStreamCancelMove; e++ {
		if got := e.Refuse(api.NewError(api.StreamNotFound)); !json.Valid(got) {
			t.Errorf("%s: got %s", e, got)
		}
	}
}

// TestPage checks the bounds of pages.
func TestPage(t *testing.T) {
	tests := []struct {
		total, offset, limit, from, to int
	}{
		{0, 0, 10, 0, 0},
		{5, 0, 10, 0, 5},
		{25, 10, 10, 10, 20},
		{25, 20, 10, 20, 25},
		{25, 99, 10, 25, 25},
		{25, -3, 10, 0, 10},
		{5, 1<<63 - 1, 10, 5, 5},
	}
	for _, tt := range tests {
		from, to, p := api.Page(tt.total, tt.offset, tt.limit)
		if from != tt.from || to != tt.to || p != (api.Paged{Total: tt.total, Offset: tt.from, Limit: tt.limit}) {
			t.Errorf("%+v: got %d to %d, %+v", tt, from, to, p)
		}
	}
}

// TestAt checks how times are shown.
func TestAt(t *testing.T) {
	var got []string
	for _, ns := range []int64{0, 1, 1795997545858594015} {
		text, err := api.At(ns).MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	want := []string{"0001-01-01T00:00:00Z", "1970-01-01T00:00:00.000000001Z", "2026-11-30T00:12:25.858594015Z"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
