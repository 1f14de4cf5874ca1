// Package survey puts together what is known of a cluster's servers and streams, and says what an operator wants to know before
// he touches one: who leads what, who lags, and which server can be stopped now. It is pure: servers gather, this package judges.
package survey

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Server is one server of the cluster.
type Server struct {
	Node string `json:"node"`
	Name string `json:"name"`
	// Online says that the server which made the report reaches it.
	Online bool `json:"online"`
	// Voter, Current and Lag are of its part in the meta group; Leader says that it leads that.
	Leader  bool  `json:"meta_leader,omitempty"`
	Voter   bool  `json:"voter"`
	Current bool  `json:"current"`
	Lag     int64 `json:"lag"`
	// Streams has those assigned to it, Led those that it leads; both are counted here.
	Streams int `json:"streams"`
	Led     int `json:"led"`
	// StoreBytes is what its streams have on disk, FreeBytes what the disk has left; 0 where that is not known. Full says that
	// it is too little to take messages.
	StoreBytes int64 `json:"store_bytes,omitempty"`
	FreeBytes  int64 `json:"free_bytes,omitempty"`
	Full       bool  `json:"disk_full,omitempty"`
	// Alone counts the streams that no other server has: they are away while it is.
	Alone int `json:"streams_here_only"`
	// SafeToStop says that everything else goes on without it. If not, WhyNot says what would stand still.
	SafeToStop bool   `json:"safe_to_stop"`
	WhyNot     string `json:"why_not,omitempty"`
}

// Replica is a server's part in a stream.
type Replica struct {
	Node    string `json:"node"`
	Name    string `json:"name"`
	Voter   bool   `json:"voter"`
	Current bool   `json:"current"`
	Offline bool   `json:"offline,omitempty"`
	Lag     uint64 `json:"lag,omitempty"`
}

// Stream is a stream and the servers that have it.
type Stream struct {
	ID      uint64 `json:"id"`
	Account string `json:"account"`
	Name    string `json:"name"`
	// Leader is the name of the server that leads, empty if none says that it does.
	Leader string `json:"leader,omitempty"`
	// Replicas are those of the assignment, with what the leader knows of them.
	Replicas []Replica `json:"replicas"`
	// Moving says that it is on its way to other servers, or to more or fewer.
	Moving bool `json:"moving,omitempty"`
	// Step says what that waits for, empty if nobody says.
	Step string `json:"step,omitempty"`
	// Trouble says what is not as it should be, empty if nothing is.
	Trouble string `json:"trouble,omitempty"`
}

// Part is what one server tells of itself for a report.
type Part struct {
	// Led are the streams that it leads; their replicas have no names.
	Led []Stream `json:"led"`
	// StoreBytes, FreeBytes and Full are as in Server.
	StoreBytes int64 `json:"store_bytes,omitempty"`
	FreeBytes  int64 `json:"free_bytes,omitempty"`
	Full       bool  `json:"disk_full,omitempty"`
}

// Report is the state of a cluster as one server sees it.
type Report struct {
	Cluster string    `json:"cluster"`
	By      string    `json:"reported_by"` // name of the server
	Time    time.Time `json:"time"`
	// MetaLeader is the name of the server that leads the meta group, empty if none is known to.
	MetaLeader string   `json:"meta_leader,omitempty"`
	Voters     int      `json:"voters"`
	Quorum     int      `json:"quorum"`            // voters that have to agree
	Waiting    string   `json:"waiting,omitempty"` // why that server has no part in the cluster
	Servers    []Server `json:"servers"`           // by name
	Streams    int      `json:"streams"`
	// Troubled are the streams with which something is not as it should be, or that move: up to Most, by account and name.
	Troubled []Stream `json:"troubled,omitempty"`
	// MoreTroubled counts those left out.
	MoreTroubled int `json:"more_troubled,omitempty"`
	// FeatureLevel says what may be used since all servers know it. It rises when all know more, and never falls; 0 where it
	// is not known.
	FeatureLevel int `json:"feature_level,omitempty"`
	// Silent are names of servers that can be reached and have not said what they lead: verdicts may be too careful.
	Silent []string `json:"silent,omitempty"`
}

// Most is how many streams a report names.
const Most = 100

// lagMost is how many entries a replica may lack and still count for a majority: under load some are always on their way.
const lagMost = 1000

// Well says that nothing has to be looked at: no server and no stream is other than it should be, and all is known.
func (r *Report) Well() bool {
	full := slices.ContainsFunc(r.Servers, func(s Server) bool { return s.Full })
	return len(r.Troubled) == 0 && r.MetaLeader != "" && r.Waiting == "" && len(r.Silent) == 0 && !full
}

// Judge completes a report: the counts, what is wrong with streams, and which servers can be stopped. The servers and the
// streams, all of them, come without what is to be found out.
func Judge(r *Report, streams []Stream) {
	slices.SortFunc(r.Servers, func(a, b Server) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(streams, func(a, b Stream) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Name, b.Name))
	})
	r.Streams = len(streams)
	j := judge{report: r, lost: make(map[string]*loss)}
	for i := range r.Servers {
		s := &r.Servers[i]
		j.lost[s.Node] = &loss{server: s}
	}
	for i := range streams {
		j.stream(&streams[i])
	}
	j.meta()
	for i := range r.Servers {
		j.lost[r.Servers[i].Node].tell()
	}
}

// judge is what Judge works with.
type judge struct {
	report *Report
	lost   map[string]*loss // by node
}

// loss is what would stand still without a server.
type loss struct {
	server *Server
	meta   bool
	count  int
	first  *Stream
}

// tell puts it into words.
func (l *loss) tell() {
	s := l.server
	switch {
	case !s.Online:
		s.WhyNot = "it cannot be reached"
	case l.meta:
		s.WhyNot = "the meta group would lose its majority: no stream could be made or changed"
	case l.count == 1:
		s.WhyNot = fmt.Sprintf("stream %q of account %q would lose its majority", l.first.Name, l.first.Account)
	case l.count > 1:
		s.WhyNot = fmt.Sprintf("%d streams would lose their majority, among them %q of account %q", l.count, l.first.Name, l.first.Account)
	}
	s.SafeToStop = s.WhyNot == ""
}

// meta finds the servers without which the meta group has no majority.
func (j *judge) meta() {
	well := 0
	for i := range j.report.Servers {
		if s := &j.report.Servers[i]; s.Voter && s.Online {
			well++
		}
	}
	for i := range j.report.Servers {
		s := &j.report.Servers[i]
		without := well
		if s.Voter && s.Online {
			without--
		}
		// Where no majority is left anyway, or all there is is one server, stopping this one is not what breaks it.
		j.lost[s.Node].meta = s.Voter && j.report.Voters > 1 && without < j.report.Quorum
	}
}

// stream finds what is wrong with a stream, counts it, and notes it with the servers that it cannot do without.
func (j *judge) stream(s *Stream) {
	well, voters := 0, 0
	for i := range s.Replicas {
		r := &s.Replicas[i]
		if l := j.lost[r.Node]; l != nil {
			l.server.Streams++
			if r.Name == s.Leader {
				l.server.Led++
			}
			if len(s.Replicas) == 1 {
				l.server.Alone++
			}
		}
		if r.Voter {
			voters++
		}
		if r.counts() {
			well++
		}
	}
	s.Trouble = s.trouble(well, voters)
	if s.Trouble != "" || s.Moving {
		if len(j.report.Troubled) < Most {
			j.report.Troubled = append(j.report.Troubled, *s)
		} else {
			j.report.MoreTroubled++
		}
	}
	if len(s.Replicas) == 1 {
		return
	}
	for i := range s.Replicas {
		r, without := &s.Replicas[i], well
		if r.counts() {
			without--
		}
		if l := j.lost[r.Node]; l != nil && r.Voter && without < voters/2+1 {
			if l.count++; l.first == nil {
				l.first = s
			}
		}
	}
}

// counts tells whether a replica would help a majority to go on.
func (r *Replica) counts() bool { return r.Voter && !r.Offline && (r.Current || r.Lag <= lagMost) }

// trouble is what is not as it should be, the worst first.
func (s *Stream) trouble(well, voters int) string {
	switch {
	case s.Leader == "" && well < voters/2+1:
		return "no majority: it cannot be written or read until servers that have it are back"
	case s.Leader == "":
		return "no leader"
	}
	for i := range s.Replicas {
		switch r := &s.Replicas[i]; {
		case r.Offline:
			return "replica on " + r.Name + " cannot be reached"
		case !r.Voter:
			return "replica on " + r.Name + " is being filled"
		case !r.counts():
			return fmt.Sprintf("replica on %s lacks %d entries", r.Name, r.Lag)
		}
	}
	return ""
}
