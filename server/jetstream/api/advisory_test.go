package api_test

import (
	"strings"
	"testing"
	"time"

	"runnel/server/jetstream/api"
)

// TestEvents pins the subject and the JSON of every event.
func TestEvents(t *testing.T) {
	until := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	client := &api.Client{Host: "127.0.0.1", ID: 7, Account: "$G", RTT: 191609, Server: "inc", Kind: "Client", ClientType: "nats"}
	const clientJSON = `{"host":"127.0.0.1","id":7,"acc":"$G","rtt":191609,"server":"inc","kind":"Client","client_type":"nats"}`
	delivery := api.Delivery{Stream: "S", Consumer: "C", ConsumerSequence: 1, StreamSequence: 2, Deliveries: 3}
	const deliveryJSON = `"stream":"S","consumer":"C","consumer_seq":1,"stream_seq":2,"deliveries":3`
	const zero = `"messages":0,"bytes":0,"first_seq":0,"first_ts":"0001-01-01T00:00:00Z","last_seq":0,"last_ts":"0001-01-01T00:00:00Z","consumer_count":0`
	peers := []*api.Peer{{Name: "b", Current: true, Active: time.Second, ID: "B"}}
	const peersJSON = `[{"name":"b","current":true,"active":1000000000,"peer":"B"}]`
	tests := []struct {
		event               api.Event
		subject, kind, want string
	}{
		{
			&api.APIAudit{Server: "inc", Client: client, Request: "$JS.API.CONSUMER.DELETE.S.G", Response: `{"a":1}`},
			"API", "api_audit", `"server":"inc","client":` + clientJSON + `,"subject":"$JS.API.CONSUMER.DELETE.S.G","response":"{\"a\":1}"`,
		},
		{&api.StreamAction{Stream: "S", Action: api.ActionCreate}, "STREAM.CREATED.S", "stream_action", `"stream":"S","action":"create"`},
		{&api.StreamAction{Stream: "S", Action: api.ActionModify}, "STREAM.UPDATED.S", "stream_action", `"stream":"S","action":"modify"`},
		{&api.StreamAction{Stream: "S", Action: api.ActionDelete, Domain: "hub"}, "STREAM.DELETED.S", "stream_action", `"stream":"S","action":"delete","domain":"hub"`},
		{&api.ConsumerAction{Stream: "S", Consumer: "C", Action: api.ActionCreate}, "CONSUMER.CREATED.S.C", "consumer_action", `"stream":"S","consumer":"C","action":"create"`},
		{&api.ConsumerAction{Stream: "S", Consumer: "C", Action: api.ActionDelete}, "CONSUMER.DELETED.S.C", "consumer_action", `"stream":"S","consumer":"C","action":"delete"`},
		{
			&api.ConsumerPaused{Stream: "S", Consumer: "C", Paused: true, Until: &until},
			"CONSUMER.PAUSE.S.C", "consumer_pause", `"stream":"S","consumer":"C","paused":true,"pause_until":"2030-01-01T00:00:00Z"`,
		},
		{&api.ConsumerPaused{Stream: "S", Consumer: "C"}, "CONSUMER.PAUSE.S.C", "consumer_pause", `"stream":"S","consumer":"C","paused":false`},
		{
			&api.BreakerTripped{Stream: "S", Consumer: "C", Failed: 12, Attempts: 20, Until: until},
			"CONSUMER.BREAKER.S.C", "consumer_breaker", `"stream":"S","consumer":"C","failed":12,"attempts":20,"pause_until":"2030-01-01T00:00:00Z"`,
		},
		{
			&api.RedriveEnded{Stream: "S", DeadRedrive: api.DeadRedrive{To: "consumer", Started: until, Ended: &until, Done: 3, Failed: 1, Error: "x"}},
			"DLQ.REDRIVE.S", "dlq_redrive",
			`"stream":"S","to":"consumer","started":"2030-01-01T00:00:00Z","ended":"2030-01-01T00:00:00Z","done":3,"left":0,"failed":1,"error":"x"`,
		},
		{
			&api.MaxDeliveries{Stream: "S", Consumer: "C", Sequence: 4, Deliveries: 1},
			"CONSUMER.MAX_DELIVERIES.S.C", "max_deliver", `"stream":"S","consumer":"C","stream_seq":4,"deliveries":1`,
		},
		{&api.Naked{Delivery: delivery}, "CONSUMER.MSG_NAKED.S.C", "nak", deliveryJSON},
		{&api.Terminated{Delivery: delivery, Reason: "bla"}, "CONSUMER.MSG_TERMINATED.S.C", "terminated", deliveryJSON + `,"reason":"bla"`},
		{
			&api.Pinned{Account: "$G", Stream: "S", Consumer: "C", Group: "a", PinnedID: "x"},
			"CONSUMER.PINNED.S.C", "consumer_group_pinned", `"account":"$G","stream":"S","consumer":"C","group":"a","pinned_id":"x"`,
		},
		{
			&api.Unpinned{Account: "$G", Stream: "S", Consumer: "C", Group: "a", Reason: api.UnpinAdmin},
			"CONSUMER.UNPINNED.S.C", "consumer_group_unpinned", `"account":"$G","stream":"S","consumer":"C","group":"a","reason":"admin"`,
		},
		{&api.SnapshotCreated{Stream: "S", Client: client}, "STREAM.SNAPSHOT_CREATE.S", "snapshot_create", `"stream":"S","state":{` + zero + `},"client":` + clientJSON},
		{
			&api.SnapshotComplete{Stream: "S", Start: until, End: until, Client: client, Error: "x"},
			"STREAM.SNAPSHOT_COMPLETE.S", "snapshot_complete",
			`"stream":"S","start":"2030-01-01T00:00:00Z","end":"2030-01-01T00:00:00Z","error":"x","client":` + clientJSON,
		},
		{&api.RestoreCreated{Stream: "S", Client: client}, "STREAM.RESTORE_CREATE.S", "restore_create", `"stream":"S","client":` + clientJSON},
		{
			&api.RestoreComplete{Stream: "S", Start: until, End: until, Bytes: 5, Client: client},
			"STREAM.RESTORE_COMPLETE.S", "restore_complete",
			`"stream":"S","start":"2030-01-01T00:00:00Z","end":"2030-01-01T00:00:00Z","bytes":5,"client":` + clientJSON,
		},
		{
			&api.BatchAbandoned{Account: "A", Stream: "S", Batch: "b", Reason: api.AbandonedTimeout},
			"STREAM.BATCH_ABANDONED.S", "stream_batch_abandoned", `"account":"A","stream":"S","batch":"b","reason":"timeout"`,
		},
		{
			&api.LeaderElected{Account: "A", Stream: "S", Leader: "a", Replicas: peers},
			"STREAM.LEADER_ELECTED.S", "stream_leader_elected", `"account":"A","stream":"S","leader":"a","replicas":` + peersJSON,
		},
		{
			&api.LeaderElected{Account: "A", Stream: "S", Consumer: "C", Leader: "a", Replicas: peers},
			"CONSUMER.LEADER_ELECTED.S.C", "consumer_leader_elected", `"account":"A","stream":"S","consumer":"C","leader":"a","replicas":` + peersJSON,
		},
		{&api.QuorumLost{Stream: "S", Replicas: peers}, "STREAM.QUORUM_LOST.S", "stream_quorum_lost", `"stream":"S","replicas":` + peersJSON},
		{
			&api.QuorumLost{Stream: "S", Consumer: "C", Replicas: peers},
			"CONSUMER.QUORUM_LOST.S.C", "consumer_quorum_lost", `"stream":"S","consumer":"C","replicas":` + peersJSON,
		},
		{
			&api.OutOfStorage{Server: "a", ServerID: "A", Stream: "S", Cluster: "c"},
			"SERVER.OUT_OF_STORAGE", "server_out_of_space", `"server":"a","server_id":"A","stream":"S","cluster":"c"`,
		},
		{&api.APILimitReached{Server: "a", Dropped: 5}, "API.LIMIT_REACHED", "api_limit_reached", `"server":"a","dropped":5`},
		{
			&api.DomainLeaderElected{Leader: "a", Replicas: peers, Cluster: "c"},
			"DOMAIN.LEADER_ELECTED", "domain_leader_elected", `"leader":"a","replicas":` + peersJSON + `,"cluster":"c"`,
		},
		{&api.ServerRemoved{Server: "a", ServerID: "A", Cluster: "c"}, "SERVER.REMOVED", "server_removed", `"server":"a","server_id":"A","cluster":"c"`},
		{
			&api.MetaRescued{Server: "a", ServerID: "A", PreviousQuorum: 2, NewQuorum: 1, Cluster: "c"},
			"SERVER.META_RESCUE", "meta_rescue", `"server":"a","server_id":"A","prev_quorum":2,"new_quorum":1,"cluster":"c"`,
		},
		{&api.AckMetric{Delivery: delivery, AckTime: 1202963781}, "CONSUMER.ACK.S.C", "consumer_ack", deliveryJSON + `,"ack_time":1202963781`},
	}
	at := time.Date(2026, 11, 30, 1, 23, 10, 732714434, time.FixedZone("", 3600))
	for _, tt := range tests {
		prefix, family := api.AdvisoryPrefix, "advisory"
		if _, ok := tt.event.(*api.AckMetric); ok {
			prefix, family = api.MetricPrefix, "metric"
		}
		names := "io.nats.jetstream."
		switch tt.event.(type) {
		case *api.BreakerTripped, *api.RedriveEnded:
			prefix, names = api.OwnAdvisoryPrefix, "io.runnel."
		}
		if got := tt.event.Subject(); got != prefix+tt.subject {
			t.Errorf("%s: got subject %s, want %s", tt.kind, got, prefix+tt.subject)
		}
		want := `{"type":"` + names + family + `.v1.` + tt.kind + `","id":"x1","timestamp":"2026-11-30T00:23:10.732714434Z",` + tt.want + "}"
		if got := string(api.EncodeEvent(tt.event, "x1", at)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if strings.ContainsAny(tt.event.Subject(), " *>") {
			t.Errorf("%s is no literal", tt.event.Subject())
		}
	}
}
