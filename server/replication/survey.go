package replication

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"runnel/cluster/meta/state"
	"runnel/cluster/survey"
)

// surveyCall asks a server for the streams that it leads.
const surveyCall = "survey"

// surveyTime bounds how long the other servers are waited for.
const surveyTime = 3 * time.Second

// Survey asks all servers that can be reached what they lead, and puts it together. It takes a moment: it is for people and
// for what they automate, not for probes.
func (r *Replication) Survey(ctx context.Context) (*survey.Report, error) {
	m := r.meta.Load()
	if m == nil {
		return nil, errStarting
	}
	s, v := m.Status(), m.View()
	out := &survey.Report{
		Cluster: r.Name(), By: r.cfg.Self.Name, Time: time.Now().UTC(), Voters: s.Voters, Quorum: s.Quorum, Waiting: m.Waiting(),
		FeatureLevel: v.Level(),
	}
	if s.Leader != "" {
		out.MetaLeader = named(v, s.Leader).Name
	}
	for _, p := range s.Peers {
		out.Servers = append(out.Servers, survey.Server{
			Node: p.Node, Name: p.Name, Online: p.Online, Leader: p.Node == s.Leader, Voter: p.Voter,
			Current: p.Current, Lag: p.Lag,
		})
	}
	led := r.gather(ctx, out)
	var streams []survey.Stream
	for a := range v.All() {
		streams = append(streams, r.survey(v, a, led[a.ID]))
	}
	survey.Judge(out, streams)
	return out, nil
}

// gather asks all servers what they lead and how full they are, and notes those that do not say.
func (r *Replication) gather(ctx context.Context, out *survey.Report) map[uint64]*survey.Stream {
	ctx, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	led := make(map[uint64]*survey.Stream)
	add := func(node string, p *survey.Part) {
		for i := range p.Led {
			led[p.Led[i].ID] = &p.Led[i]
		}
		if i := slices.IndexFunc(out.Servers, func(s survey.Server) bool { return s.Node == node }); i >= 0 {
			s := &out.Servers[i]
			s.StoreBytes, s.FreeBytes, s.Full = p.StoreBytes, p.FreeBytes, p.Full
		}
	}
	add(r.node, r.part())
	v := r.view()
	var mu sync.Mutex // guards led and out
	var asking sync.WaitGroup
	for _, node := range r.reached() {
		if v.Member(node) == nil {
			continue
		}
		asking.Go(func() {
			part, err := r.ask(ctx, node)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				out.Silent = append(out.Silent, named(v, node).Name)
				return
			}
			add(node, part)
		})
	}
	asking.Wait()
	return led
}

// ask asks one server for its part.
func (r *Replication) ask(ctx context.Context, node string) (*survey.Part, error) {
	answer, err := r.transport.Call(ctx, node, surveyCall, nil)
	if err != nil {
		return nil, err
	}
	part := &survey.Part{}
	if err := json.Unmarshal(answer, part); err != nil {
		return nil, fmt.Errorf("what server %s leads: %w", node, err)
	}
	return part, nil
}

// answerSurvey tells the part of this server.
func (r *Replication) answerSurvey(context.Context, string, []byte) ([]byte, error) {
	if r.service.Load() == nil {
		return nil, errStarting
	}
	return json.Marshal(r.part())
}

// part is what this server tells of itself.
func (r *Replication) part() *survey.Part {
	u := r.cfg.Usage()
	return &survey.Part{Led: r.led(), StoreBytes: u.StoreBytes, FreeBytes: u.FreeBytes, Full: u.Full}
}

// led are the streams that this server leads.
func (r *Replication) led() []survey.Stream {
	list := []survey.Stream{}
	for a := range r.view().All() {
		if !a.On(r.node) {
			continue
		}
		s, ok := r.group(a.ID)
		if !ok || !s.Leads {
			continue
		}
		step, _ := r.step(a.ID)
		t := survey.Stream{ID: a.ID, Step: step, Leader: r.node, Replicas: []survey.Replica{{Node: r.node, Voter: s.Voter, Current: true}}}
		for i := range s.Peers {
			p := &s.Peers[i]
			t.Replicas = append(t.Replicas, survey.Replica{
				Node: p.Node, Voter: p.Voter, Current: p.Current, Offline: p.Offline || !r.Online(p.Node), Lag: p.Lag,
			})
		}
		list = append(list, t)
	}
	return list
}

// survey joins an assignment with what its leader says of it, nil if nobody says that it leads.
func (r *Replication) survey(v *state.View, a *state.Assignment, led *survey.Stream) survey.Stream {
	out := survey.Stream{ID: a.ID, Account: a.Account, Name: a.Config.Name, Moving: a.Desired != nil}
	known := make(map[string]survey.Replica)
	if led != nil {
		out.Leader, out.Step = named(v, led.Leader).Name, led.Step
		for _, p := range led.Replicas {
			known[p.Node] = p
		}
	}
	for _, node := range a.Peers {
		p, ok := known[node]
		if !ok { // it is not known whether it has a vote yet, so it is not said that it lacks one
			p = survey.Replica{Node: node, Voter: led == nil, Offline: !r.Online(node)}
		}
		p.Name = named(v, node).Name
		out.Replicas = append(out.Replicas, p)
	}
	return out
}
