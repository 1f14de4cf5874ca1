package server

import (
	"runnel/cluster/survey"
	"runnel/server/monitor"
	"runnel/server/replication/shown"
)

// Survey implements monitor.Source.
func (src source) Survey() (*survey.Report, error) {
	r := src.s.replicated.Replication
	if r == nil {
		return nil, nil
	}
	return r.Survey(src.s.ending)
}

// RaftGroups implements monitor.Source.
func (src source) RaftGroups() []monitor.RaftGroup {
	r := src.s.replicated.Replication
	if r == nil {
		return nil
	}
	system := ""
	if a := src.s.state.Load().policy.System(); a != nil {
		system = a.Name()
	}
	return shown.RaftGroups(r, system)
}
