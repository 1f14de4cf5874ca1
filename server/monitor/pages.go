package monitor

import "time"

// Pages builds the monitoring pages from a Source. It is safe for concurrent use.
type Pages struct {
	source   Source
	usage    func() Usage
	requests requestCounts
}

// New returns the pages of source.
func New(source Source) *Pages {
	return &Pages{source: source, usage: newSampler().usage, requests: newRequestCounts()}
}

// head is how most pages begin.
type head struct {
	ServerID string    `json:"server_id"`
	Now      time.Time `json:"now"`
}

func (p *Pages) head() head {
	return head{ServerID: p.source.Identity().ID, Now: now()}
}

// now is the time as pages show it.
func now() time.Time { return time.Now().UTC() }

// Identity returns who the server is.
func (p *Pages) Identity() Identity { return p.source.Identity() }

// Remotes is the number of other servers of the cluster that this one is connected with.
func (p *Pages) Remotes() int { return p.source.Server().Counters.Remotes }

// Idz is the short answer to "who is there".
type Idz struct {
	Name string `json:"name"`
	Host string `json:"host"`
	ID   string `json:"id"`
}

// Idz returns the server's name, host and id.
func (p *Pages) Idz() Idz {
	id := p.source.Identity()
	return Idz{Name: id.Name, Host: id.Host, ID: id.ID}
}
