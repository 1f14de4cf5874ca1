package shown_test

import (
	"testing"
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/delivery"
	"runnel/server/jetstream/shown"
)

// TestGroup shows as many servers of a group as a consumer asks for.
func TestGroup(t *testing.T) {
	group := &api.Cluster{Leader: "a", Replicas: []*api.Peer{{Name: "b"}, {Name: "c"}}}
	for _, test := range []struct {
		name     string
		group    *api.Cluster
		replicas int
		want     int
	}{
		{"as the stream has", group, 0, 2},
		{"one", group, 1, 0},
		{"three", group, 3, 2},
		{"more than there are", group, 5, 2},
		{"nobody leads", nil, 1, -1},
	} {
		got := -1
		if shown := shown.Group(test.group, test.replicas); shown != nil {
			got = len(shown.Replicas)
		}
		if got != test.want {
			t.Errorf("%s: got %d others, want %d", test.name, got, test.want)
		}
	}
	if len(group.Replicas) != 2 {
		t.Error("the group itself was changed")
	}
}

// consumer returns a consumer of a stream with ten messages, after some commands.
func consumer(t *testing.T, cfg config.Consumer, commands ...command.Command) *jetlog.Consumer {
	t.Helper()
	s, m := jetlog.New(1, config.Stream{Name: "S", Subjects: []string{"s"}}, 1), jetlog.NewMemory()
	var all []command.Command
	for range 10 {
		all = append(all, &command.Publish{Time: 2, Subject: "s"})
	}
	all = append(all, &command.ConsumerCreate{Time: 3, Config: cfg})
	for _, c := range append(all, commands...) {
		if result, err := s.Apply(c, m); err != nil || result.Code != 0 {
			t.Fatalf("%T: got %+v, %v", c, result, err)
		}
	}
	return s.Consumer(cfg.Name)
}

// TestConsumer shows where a consumer is, from one that was just made to one that has delivered messages, some of them again.
func TestConsumer(t *testing.T) {
	first := config.Consumer{Name: "c", Ack: config.AckExplicit, AckWait: time.Minute}
	once := first
	once.MaxDeliver = 1
	twice := first
	twice.MaxDeliver = 2
	fresh := consumer(t, first)
	deliver := func(from uint64, messages ...command.Delivery) *command.Deliver {
		return &command.Deliver{Time: 7, Consumer: "c", Incarnation: fresh.Incarnation(), From: from, Messages: messages}
	}
	two := deliver(1, command.Delivery{Sequence: 1}, command.Delivery{Sequence: 2})
	again := deliver(3, command.Delivery{Sequence: 1, Again: true})
	late := &command.AckDeadline{Time: int64(time.Hour)}
	for _, tt := range []struct {
		name                            string
		consumer                        *jetlog.Consumer
		delivered, pending, ackPending  int
		redelivered, deliveredConsumers int
	}{
		{"fresh", fresh, 0, 10, 0, 0, 0},
		{"two delivered", consumer(t, first, two), 2, 8, 2, 0, 2},
		{"one of them again", consumer(t, first, two, again), 2, 8, 2, 1, 3},
		{"never again", consumer(t, once, two, late), 2, 8, 0, 0, 2},
		{"twice at most", consumer(t, twice, two, again, late), 2, 8, 1, 1, 3},
	} {
		var info api.ConsumerInfo
		shown.Consumer(&info, tt.consumer, time.Unix(0, 9))
		got := [...]int{
			int(info.Delivered.Stream), int(info.Pending), int(info.AckPending), int(info.Redelivered), int(info.Delivered.Consumer),
		}
		want := [...]int{tt.delivered, tt.pending, tt.ackPending, tt.redelivered, tt.deliveredConsumers}
		if got != want {
			t.Errorf("%s: got %v, want %v", tt.name, got, want)
		}
		if active := info.Delivered.LastActive; (active != nil) != (tt.delivered > 0) || active != nil && active.UnixNano() != 7 {
			t.Errorf("%s: last active at %v", tt.name, active)
		}
		if info.AckFloor.LastActive != nil || info.Paused || len(info.PriorityGroups) != 0 || info.Created.UnixNano() != 3 {
			t.Errorf("%s: got %+v, want nothing acknowledged, no pause and no groups", tt.name, info)
		}
	}
}

// TestPause shows a pause as long as it lasts, and until then the time of it instead of what was configured.
func TestPause(t *testing.T) {
	c := consumer(t, config.Consumer{Name: "c", Ack: config.AckExplicit, AckWait: time.Minute},
		&command.Pause{Time: 4, Consumer: "c", Until: 100})
	configured := time.Unix(0, 60)
	for _, tt := range []struct {
		name      string
		now       int64
		remaining time.Duration
		until     int64
	}{
		{"rests", 30, 70, 100},
		{"over", 100, 0, 60},
		{"long over", 1000, 0, 60},
	} {
		info := api.ConsumerInfo{Now: time.Unix(0, tt.now)}
		shown.Consumer(&info, c, info.Now)
		if info.Paused != (tt.remaining > 0) || info.PauseRemaining != tt.remaining {
			t.Errorf("%s: paused is %v for %v, want %v", tt.name, info.Paused, info.PauseRemaining, tt.remaining)
		}
		if got := shown.PauseUntil(&info, &configured); got.UnixNano() != tt.until {
			t.Errorf("%s: paused until %d, want %d", tt.name, got.UnixNano(), tt.until)
		}
	}
}

// TestPriorityGroups shows who a group is pinned to.
func TestPriorityGroups(t *testing.T) {
	c := consumer(t, config.Consumer{
		Name: "c", Ack: config.AckExplicit, AckWait: time.Minute, PriorityPolicy: config.PriorityPinned, PriorityGroups: []string{"g"},
	}, &command.Pin{Time: 8, Consumer: "c", Group: "g", ID: "client"})
	var info api.ConsumerInfo
	shown.Consumer(&info, c, time.Unix(0, 9))
	if len(info.PriorityGroups) != 1 {
		t.Fatalf("got %d groups, want 1", len(info.PriorityGroups))
	}
	if g := info.PriorityGroups[0]; g.Group != "g" || g.PinnedID != "client" || g.PinnedAt.UnixNano() != 8 {
		t.Errorf("got %+v, want g pinned to client at 8", g)
	}
}

// TestLive shows times only where there are some, in UTC, and a stall only if there is one.
func TestLive(t *testing.T) {
	at := time.Unix(5, 0).In(time.FixedZone("east", 3600))
	var info api.ConsumerInfo
	shown.Live(&info, &delivery.State{Waiting: 3, PushBound: true})
	if info.Waiting != 3 || !info.PushBound || info.Stalled != nil {
		t.Errorf("got %+v, want 3 waiting, bound, and no stall", info)
	}
	if l := info.Lag; l == nil || l.OldestUndelivered != nil || l.OldestUnacked != nil {
		t.Errorf("got lag %+v, want one without times", l)
	}
	shown.Live(&info, &delivery.State{
		Lag: delivery.Lag{Messages: 4, OldestUndelivered: at, Age: time.Second}, Stalled: delivery.Paused, StalledUntil: at,
	})
	if l := info.Lag; l.Messages != 4 || l.Age != time.Second || l.OldestUndelivered.Location() != time.UTC || l.OldestUnacked != nil {
		t.Errorf("got lag %+v, want 4 messages, the oldest undelivered one in UTC", l)
	}
	if s := info.Stalled; s == nil || s.Reason != api.StalledPaused || !s.Until.Equal(at) {
		t.Errorf("got %+v, want paused until %v", s, at)
	}
	if info.Letters != nil {
		t.Errorf("got %+v, want no letters", info.Letters)
	}
	shown.Live(&info, &delivery.State{Letters: 2, OldestLetter: at})
	if l := info.Letters; l == nil || l.Waiting != 2 || !l.Oldest.Equal(at) || l.Oldest.Location() != time.UTC {
		t.Errorf("got %+v, want 2 letters, the oldest of %v in UTC", l, at)
	}
	shown.Live(&info, &delivery.State{Stalled: delivery.NoRequests})
	if s := info.Stalled; s == nil || s.Until != nil {
		t.Errorf("got %+v, want a stall without an end", s)
	}
}
