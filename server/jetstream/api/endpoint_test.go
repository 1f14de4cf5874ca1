package api_test

import (
	"slices"
	"strings"
	"testing"

	"runnel/server/jetstream/api"
)

// TestParseSubject gives a subject of every call, and what it asks for.
func TestParseSubject(t *testing.T) {
	const p = "io.nats.jetstream.api.v1."
	tests := []struct {
		subject string
		want    api.Call
		kind    string
	}{
		{"INFO", api.Call{Endpoint: api.CallAccountInfo}, p + "account_info_response"},
		{"STREAM.CREATE.S", api.Call{Endpoint: api.CallStreamCreate, Stream: "S"}, p + "stream_create_response"},
		{"STREAM.UPDATE.S", api.Call{Endpoint: api.CallStreamUpdate, Stream: "S"}, p + "stream_update_response"},
		{"STREAM.INFO.S", api.Call{Endpoint: api.CallStreamInfo, Stream: "S"}, p + "stream_info_response"},
		{"STREAM.NAMES", api.Call{Endpoint: api.CallStreamNames}, p + "stream_names_response"},
		{"STREAM.LIST", api.Call{Endpoint: api.CallStreamList}, p + "stream_list_response"},
		{"STREAM.DELETE.S", api.Call{Endpoint: api.CallStreamDelete, Stream: "S"}, p + "stream_delete_response"},
		{"STREAM.PURGE.S", api.Call{Endpoint: api.CallStreamPurge, Stream: "S"}, p + "stream_purge_response"},
		{"STREAM.MSG.GET.S", api.Call{Endpoint: api.CallStreamMessageGet, Stream: "S"}, p + "stream_msg_get_response"},
		{"STREAM.MSG.DELETE.S", api.Call{Endpoint: api.CallStreamMessageDelete, Stream: "S"}, p + "stream_msg_delete_response"},
		{"STREAM.SNAPSHOT.S", api.Call{Endpoint: api.CallStreamSnapshot, Stream: "S"}, p + "stream_snapshot_response"},
		{"STREAM.RESTORE.S", api.Call{Endpoint: api.CallStreamRestore, Stream: "S"}, p + "stream_restore_response"},
		{"STREAM.PEER.REMOVE.S", api.Call{Endpoint: api.CallStreamPeerRemove, Stream: "S"}, p + "stream_remove_peer_response"},
		{"STREAM.PEER.EVACUATE.S", api.Call{Endpoint: api.CallStreamPeerEvacuate, Stream: "S"}, p + "stream_evacuate_peer_response"},
		{"STREAM.CANCEL_MOVE.S", api.Call{Endpoint: api.CallStreamCancelMove, Stream: "S"}, p + "stream_cancel_move_response"},
		{"STREAM.LEADER.STEPDOWN.S", api.Call{Endpoint: api.CallStreamStepDown, Stream: "S"}, p + "stream_leader_stepdown_response"},
		{"CONSUMER.CREATE.S", api.Call{Endpoint: api.CallConsumerCreate, Stream: "S"}, p + "consumer_create_response"},
		{"CONSUMER.CREATE.S.C", api.Call{Endpoint: api.CallConsumerCreate, Stream: "S", Consumer: "C"}, p + "consumer_create_response"},
		{"CONSUMER.CREATE.S.C.a.*.>", api.Call{Endpoint: api.CallConsumerCreate, Stream: "S", Consumer: "C", Filter: "a.*.>"}, p + "consumer_create_response"},
		{"CONSUMER.DURABLE.CREATE.S.C", api.Call{Endpoint: api.CallConsumerDurableCreate, Stream: "S", Consumer: "C"}, p + "consumer_create_response"},
		{"CONSUMER.INFO.S.C", api.Call{Endpoint: api.CallConsumerInfo, Stream: "S", Consumer: "C"}, p + "consumer_info_response"},
		{"CONSUMER.NAMES.S", api.Call{Endpoint: api.CallConsumerNames, Stream: "S"}, p + "consumer_names_response"},
		{"CONSUMER.LIST.S", api.Call{Endpoint: api.CallConsumerList, Stream: "S"}, p + "consumer_list_response"},
		{"CONSUMER.DELETE.S.C", api.Call{Endpoint: api.CallConsumerDelete, Stream: "S", Consumer: "C"}, p + "consumer_delete_response"},
		{"CONSUMER.PAUSE.S.C", api.Call{Endpoint: api.CallConsumerPause, Stream: "S", Consumer: "C"}, p + "consumer_pause_response"},
		{"CONSUMER.RESET.S.C", api.Call{Endpoint: api.CallConsumerReset, Stream: "S", Consumer: "C"}, p + "consumer_reset_response"},
		{"CONSUMER.UNPIN.S.C", api.Call{Endpoint: api.CallConsumerUnpin, Stream: "S", Consumer: "C"}, p + "consumer_unpin_response"},
		{"CONSUMER.LEADER.STEPDOWN.S.C", api.Call{Endpoint: api.CallConsumerStepDown, Stream: "S", Consumer: "C"}, p + "consumer_leader_stepdown_response"},
		{"CONSUMER.PEER.REMOVE.S.C", api.Call{Endpoint: api.CallConsumerPeerRemove, Stream: "S", Consumer: "C"}, p + "consumer_remove_peer_response"},
		{"CONSUMER.PEER.EVACUATE.S.C", api.Call{Endpoint: api.CallConsumerPeerEvacuate, Stream: "S", Consumer: "C"}, p + "consumer_evacuate_peer_response"},
		{"CONSUMER.MSG.NEXT.S.C", api.Call{Endpoint: api.CallConsumerNext, Stream: "S", Consumer: "C"}, ""},
		{"DIRECT.GET.S", api.Call{Endpoint: api.CallDirectGet, Stream: "S"}, ""},
		{"DIRECT.GET.S.a.b", api.Call{Endpoint: api.CallDirectGet, Stream: "S", Filter: "a.b"}, ""},
		{"META.LEADER.STEPDOWN", api.Call{Endpoint: api.CallMetaStepDown}, p + "meta_leader_stepdown_response"},
		{"META.RESCUE", api.Call{Endpoint: api.CallMetaRescue}, p + "meta_rescue_response"},
		{"SERVER.REMOVE", api.Call{Endpoint: api.CallServerRemove}, p + "meta_server_remove_response"},
		{"SERVER.EVACUATE", api.Call{Endpoint: api.CallServerEvacuate}, p + "meta_server_evacuate_response"},
		{"ACCOUNT.PURGE.A", api.Call{Endpoint: api.CallAccountPurge, Account: "A"}, p + "account_purge_response"},
		{"ACCOUNT.STREAM.MOVE.A.S", api.Call{Endpoint: api.CallAccountStreamMove, Account: "A", Stream: "S"}, p + "stream_update_response"},
		{"ACCOUNT.STREAM.CANCEL_MOVE.A.S", api.Call{Endpoint: api.CallAccountStreamCancelMove, Account: "A", Stream: "S"}, p + "stream_update_response"},
		{"STREAM.LOOK.S", api.Call{Endpoint: api.CallUnknown}, p + "system_response"},
	}
	seen := map[api.Endpoint]bool{}
	for _, tt := range tests {
		t.Run(tt.subject, func(t *testing.T) {
			for domain, prefix := range map[string]string{"": "$JS.API.", "hub": "$JS.hub.API."} {
				want := tt.want
				want.Domain = domain
				if got, ok := api.ParseSubject(prefix + tt.subject); !ok || got != want {
					t.Errorf("%s: got %+v %v, want %+v", prefix, got, ok, want)
				}
			}
			e := tt.want.Endpoint
			seen[e] = true
			if got := e.Type(); got != tt.kind {
				t.Errorf("type: got %s, want %s", got, tt.kind)
			}
			if e != api.CallUnknown && !strings.HasPrefix(tt.subject, e.String()) {
				t.Errorf("name: got %s", e)
			}
		})
	}
	for e := api.CallUnknown; e.String() != "unknown" || e == api.CallUnknown; e++ {
		if !seen[e] && !e.Own() {
			t.Errorf("%s is not tried", e)
		}
	}
}

// TestParseOwnSubject gives a subject of every call of our own, and what it asks for. Neither prefix leads to calls of the
// other one.
func TestParseOwnSubject(t *testing.T) {
	tests := []struct {
		subject string
		want    api.Call
		kind    string
	}{
		{"LAG", api.Call{Endpoint: api.CallLag}, "lag"},
		{"CONSUMER.LAG.S.C", api.Call{Endpoint: api.CallConsumerLag, Stream: "S", Consumer: "C"}, "consumer_lag"},
		{"CONSUMER.KEYS.S.C", api.Call{Endpoint: api.CallConsumerKeys, Stream: "S", Consumer: "C"}, "consumer_keys"},
		{"DLQ.LIST", api.Call{Endpoint: api.CallDeadList}, "dlq_list"},
		{"DLQ.INFO.S", api.Call{Endpoint: api.CallDeadInfo, Stream: "S"}, "dlq_info"},
		{"DLQ.GET.S", api.Call{Endpoint: api.CallDeadGet, Stream: "S"}, "dlq_get"},
		{"DLQ.DISCARD.S", api.Call{Endpoint: api.CallDeadDiscard, Stream: "S"}, "dlq_discard"},
		{"DLQ.REDRIVE.S", api.Call{Endpoint: api.CallDeadRedrive, Stream: "S"}, "dlq_redrive"},
		{"DLQ.STOP.S", api.Call{Endpoint: api.CallDeadStop, Stream: "S"}, "dlq_stop"},
		{"DELAY.LIST.S", api.Call{Endpoint: api.CallDelayList, Stream: "S"}, "delay_list"},
		{"DELAY.CANCEL.S", api.Call{Endpoint: api.CallDelayCancel, Stream: "S"}, "delay_cancel"},
		{"PRODUCER.LIST.S", api.Call{Endpoint: api.CallProducerList, Stream: "S"}, "producer_list"},
		{"PRODUCER.FORGET.S", api.Call{Endpoint: api.CallProducerForget, Stream: "S"}, "producer_forget"},
		{"CONSUMER.EXPLAIN.S.C", api.Call{Endpoint: api.CallConsumerExplain, Stream: "S", Consumer: "C"}, "consumer_explain"},
	}
	seen := map[api.Endpoint]bool{}
	for _, tt := range tests {
		t.Run(tt.subject, func(t *testing.T) {
			if got, ok := api.ParseSubject("$RUNNEL.API." + tt.subject); !ok || got != tt.want {
				t.Errorf("got %+v %v, want %+v", got, ok, tt.want)
			}
			if got, ok := api.ParseSubject("$JS.API." + tt.subject); !ok || got.Endpoint != api.CallUnknown {
				t.Errorf("below $JS.API: got %+v %v, want an unknown call", got, ok)
			}
			e := tt.want.Endpoint
			seen[e] = true
			if got, want := e.Type(), "io.runnel.api.v1."+tt.kind+"_response"; got != want || !e.Own() || !strings.HasPrefix(tt.subject, e.String()) {
				t.Errorf("%s: got type %s, own %v, want %s", e, got, e.Own(), want)
			}
		})
	}
	for e := api.CallUnknown + 1; e.String() != "unknown"; e++ {
		if e.Own() && !seen[e] {
			t.Errorf("%s is not tried", e)
		}
	}
	for _, subject := range []string{"INFO", "STREAM.INFO.S", "CONSUMER.LAG.S", "LAG.S", "x"} {
		if got, ok := api.ParseSubject("$RUNNEL.API." + subject); !ok || got.Endpoint != api.CallUnknown {
			t.Errorf("%s: got %+v %v, want an unknown call", subject, got, ok)
		}
	}
}

// TestUnknownSubject tells subjects that mean nothing from those of others.
func TestUnknownSubject(t *testing.T) {
	for _, subject := range []string{
		"$JS.API.INFO.x", "$JS.API.STREAM", "$JS.API.STREAM.INFO", "$JS.API.STREAM.INFO.", "$JS.API.STREAM.INFO.S.T",
		"$JS.API.STREAM.INFOS", "$JS.API.CONSUMER.INFO.S", "$JS.API.CONSUMER.CREATE", "$JS.API.CONSUMER.CREATE.S.",
		"$JS.API.CONSUMER.CREATE.S.C.", "$JS.API.DIRECT.GET", "$JS.API.DIRECT.GET.S.", "$JS.API.CONSUMER.INFO..C",
		"$JS.API.STREAM.NAMES.S", "$JS.API.ACCOUNT.PURGE", "$JS.API.$KV.b.k", "$JS.API.x", "$JS.API..",
	} {
		if got, ok := api.ParseSubject(subject); !ok || got != (api.Call{}) {
			t.Errorf("%s: got %+v %v, want an unknown call", subject, got, ok)
		}
	}
	for _, subject := range []string{"", "$JS", "$JS.API", "$JS.API.", "$JS.ACK.S.C.1.2.3.4.5", "$JS..API.INFO", "$JS.hub.INFO", "$JS.hub.API", "$JS.hub.API.", "$RUNNEL.API", "$RUNNEL.API.", "$js.api.INFO", "foo"} {
		if got, ok := api.ParseSubject(subject); ok {
			t.Errorf("%q: got %+v, want none", subject, got)
		}
	}
}

// TestTraits checks which calls change something, and which are the system account's.
func TestTraits(t *testing.T) {
	looks := []api.Endpoint{
		api.CallUnknown, api.CallAccountInfo, api.CallStreamInfo, api.CallStreamNames, api.CallStreamList, api.CallStreamMessageGet,
		api.CallStreamSnapshot, api.CallConsumerInfo, api.CallConsumerNames, api.CallConsumerList, api.CallConsumerNext, api.CallDirectGet,
	}
	system := []api.Endpoint{
		api.CallMetaStepDown, api.CallMetaRescue, api.CallServerRemove, api.CallServerEvacuate, api.CallAccountPurge,
		api.CallAccountStreamMove, api.CallAccountStreamCancelMove,
	}
	for e := api.CallUnknown; e <= api.CallAccountStreamCancelMove; e++ { // those of our own stand behind these
		if got, want := e.Mutates(), !slices.Contains(looks, e); got != want {
			t.Errorf("%s changes something: got %v, want %v", e, got, want)
		}
		if got, want := e.System(), slices.Contains(system, e); got != want {
			t.Errorf("%s is the system account's: got %v, want %v", e, got, want)
		}
	}
	if e := api.Endpoint(200); e.Mutates() || e.System() || e.String() != "unknown" || e.Type() != api.CallUnknown.Type() {
		t.Errorf("no endpoint: got %s %s", e, e.Type())
	}
}

// TestFromDomain checks what is meant by subjects with the prefix of a domain.
func TestFromDomain(t *testing.T) {
	tests := []struct{ domain, subject, want string }{
		{"hub", "$JS.hub.API.STREAM.INFO.S", "$JS.API.STREAM.INFO.S"},
		{"hub", "$JS.hub.API.INFO", "$JS.API.INFO"},
		{"hub", "$JS.hub.API.$KV.b.k.l", "$KV.b.k.l"},
		{"hub", "$JS.hub.API.$OBJ.b.C.x", "$OBJ.b.C.x"},
		{"hub", "$JS.hub.API.$O.b.C.x", "$O.b.C.x"},
		{"hub", "$JS.hub.API.$KVX.b", "$JS.API.$KVX.b"},
		{"hub", "$JS.other.API.INFO", ""},
		{"hub", "$JS.hubs.API.INFO", ""},
		{"hub", "$JS.hub.API.", ""},
		{"hub", "$JS.API.INFO", ""},
		{"", "$JS..API.INFO", ""},
	}
	for _, tt := range tests {
		if got, ok := api.FromDomain(tt.domain, tt.subject); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s of %q: got %q %v, want %q", tt.subject, tt.domain, got, ok, tt.want)
		}
	}
}

// FuzzSubject checks that what is parsed is all of the subject, and that each call has an answer.
func FuzzSubject(f *testing.F) {
	f.Add("$JS.API.CONSUMER.CREATE.S.C.a.b")
	f.Add("$JS.hub.API.DIRECT.GET.S.x")
	f.Add("$JS.API.ACCOUNT.STREAM.MOVE.A.S")
	f.Add("$RUNNEL.API.CONSUMER.LAG.S.C")
	f.Fuzz(func(t *testing.T, subject string) {
		call, ok := api.ParseSubject(subject)
		if !ok || call.Endpoint == api.CallUnknown {
			return
		}
		again := "$JS.API."
		switch {
		case call.Domain != "":
			again = api.DomainPrefix(call.Domain)
		case call.Endpoint.Own():
			again = api.OwnPrefix
		}
		again += call.Endpoint.String()
		for _, part := range []string{call.Account, call.Stream, call.Consumer, call.Filter} {
			if part != "" {
				again += "." + part
			}
		}
		if again != subject {
			t.Errorf("got %s of %s", again, subject)
		}
	})
}

func BenchmarkParseSubject(b *testing.B) {
	for _, subject := range []string{"$JS.API.CONSUMER.MSG.NEXT.ORDERS.worker", "$JS.API.CONSUMER.CREATE.ORDERS.worker.orders.>"} {
		b.Run(subject, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := api.ParseSubject(subject); !ok {
					b.Fatal(subject)
				}
			}
		})
	}
}
