// Package directory is what the leader of the meta group answers: which streams there are, where they are, and what is to
// become of that.
//
// Every server of a cluster knows the streams that are assigned, with the configurations that they are to have. What is in a
// stream, and whether it takes another configuration, only the server knows that leads it. So a directory decides nothing by
// itself: it asks the meta group for what concerns which streams there are, and the leaders of streams for the rest, by an
// Asker.
//
// A change is made in an order in which it can be given up: first who may refuse it is asked, then it is committed by the meta
// group, and then the stream's leader carries it out. If that does not come to pass, the next leader does, since it finds
// that its stream differs from what is assigned.
package directory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
	"runnel/server/jetstream/clustered"
	"runnel/server/jetstream/quota"
	"runnel/server/jetstream/rebuild"
	"runnel/subjects"
)

const (
	// LeaderWait is how long a stream that is new, or about to be changed, may take to have a leader: less than the 5 s within which
	// a request without a leader is refused.
	LeaderWait = 4500 * time.Millisecond
	// gatherWait is how long it is waited for what other servers have. What is missing then is said to be.
	gatherWait = 2 * time.Second
	// knownWait is how long it is waited for other servers to know what was decided.
	knownWait = time.Second
	// operateWait is how long a change of leaders or servers may take.
	operateWait = 4 * time.Second
)

// Directory answers for one server of a cluster. It does not change, and its methods are safe for concurrent use. Each waits
// for a bounded time, or until the service ends.
type Directory struct {
	// Context ends with the service.
	Context context.Context
	Cluster clustered.Cluster
	Asker   *clustered.Asker
	// ServerName and ServerID are this server's as clients know them, Domain is the additional name of the API, if there is one.
	ServerName, ServerID, Domain string
	// Tell publishes an event in the system account.
	Tell func(api.Event)
}

// Stream returns a stream's assignment, or the error that there is none.
func (d *Directory) Stream(account, name string) (*clustered.Assignment, error) {
	a, ok := d.Cluster.Stream(account, name)
	if !ok {
		return nil, api.NewError(api.StreamNotFound)
	}
	return a, nil
}

// checkPlacement refuses a wish that is for elections only.
func checkPlacement(cfg *config.Stream) error {
	if cfg.Placement != nil && cfg.Placement.Preferred != "" {
		return api.NewError(config.StreamInvalidConfig, "preferred server not permitted in placement")
	}
	return nil
}

// Create has a stream made whose configuration is valid by itself, or finds that there is one just like it, and returns its
// info as its leader tells it.
func (d *Directory) Create(account string, cfg config.Stream, l clustered.Limits) (info *api.StreamInfo, created bool, err error) {
	if err := checkPlacement(&cfg); err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(d.Context, LeaderWait)
	defer cancel()
	// Who creates a stream at every start of his need not know whether he is the first; those who listen to events do.
	_, existed := d.Cluster.Stream(account, cfg.Name)
	a, err := d.Cluster.Create(ctx, account, cfg, l)
	if err != nil {
		return nil, false, err
	}
	if info, err = d.ask(ctx, a, &clustered.Question{Kind: clustered.KindInfo}); err != nil {
		return nil, false, err
	}
	d.Spread(a)
	return info, !existed, nil
}

// Spread waits until all servers that can be reached know what was decided about a stream, but not for long. Who has asked for it
// may make his next request in the belief that it is done, of any server.
func (d *Directory) Spread(a *clustered.Assignment) {
	ctx, cancel := context.WithTimeout(d.Context, knownWait)
	defer cancel()
	d.Asker.All(ctx, d.Asker.Online(), &clustered.Question{
		Kind: clustered.KindKnown, Position: d.Cluster.Position(), Account: a.Account, Names: []string{a.Config.Name}, ID: a.ID,
	})
}

// ask puts a question to whoever leads a stream, and returns the info that is the answer.
func (d *Directory) ask(ctx context.Context, a *clustered.Assignment, q *clustered.Question) (*api.StreamInfo, error) {
	r, err := d.Asker.Leader(ctx, a, q)
	switch {
	case err != nil:
		return nil, err
	case r.Error != nil:
		return nil, r.Error
	case len(r.Streams) != 1:
		return nil, api.NewError(api.ClusterUnavailable)
	}
	return r.Streams[0], nil
}

// Update gives a stream another configuration, and returns its info then. Whether the stream takes it only its leader can tell,
// whether there is room for it only the meta group: so the first is asked, the second decides, and the first carries it out.
func (d *Directory) Update(account string, cfg config.Stream, l clustered.Limits) (*api.StreamInfo, error) {
	a, err := d.Stream(account, cfg.Name)
	if err != nil {
		return nil, err
	}
	if err := config.CheckUpdate(&a.Config, &cfg); err != nil {
		return nil, err
	}
	if err := checkPlacement(&cfg); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(d.Context, LeaderWait)
	defer cancel()
	r, err := d.Asker.Leader(ctx, a, &clustered.Question{Kind: clustered.KindCheck, Config: &cfg})
	switch {
	case err != nil:
		return nil, err
	case r.Error != nil:
		return nil, r.Error
	}
	if a, err = d.Cluster.Update(ctx, account, cfg, l); err != nil {
		return nil, err
	}
	return d.reconfigured(ctx, a)
}

// reconfigured has a stream's leader take what is assigned, and returns the stream's info.
func (d *Directory) reconfigured(ctx context.Context, a *clustered.Assignment) (*api.StreamInfo, error) {
	info, err := d.ask(ctx, a, &clustered.Question{Kind: clustered.KindConfigure, Config: &a.Config})
	if err == nil {
		d.Spread(a)
	}
	return info, err
}

// Restore makes a stream with the configuration that it has until it is whole, and has its leader take a backup in which comes
// under an id.
func (d *Directory) Restore(account string, staged config.Stream, final *config.Stream, id string, l clustered.Limits) error {
	if err := checkPlacement(final); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(d.Context, LeaderWait)
	defer cancel()
	a, err := d.Cluster.Create(ctx, account, staged, l)
	if err != nil {
		return err
	}
	r, err := d.Asker.Leader(ctx, a, &clustered.Question{Kind: clustered.KindRestore, Config: final, Restore: id})
	if err == nil && r.Error == nil {
		return nil
	}
	if err == nil {
		err = r.Error
	}
	undo, cancel := context.WithTimeout(d.Context, operateWait)
	defer cancel()
	return errors.Join(err, d.Cluster.Delete(undo, a))
}

// Delete removes a stream.
func (d *Directory) Delete(account, name string) error {
	a, err := d.Stream(account, name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(d.Context, LeaderWait)
	defer cancel()
	if err = d.Cluster.Delete(ctx, a); err == nil {
		d.Spread(a)
	}
	return err
}

// find returns the streams of an account by name, only those with a subject that overlaps the pattern if it is not empty.
func (d *Directory) find(account, pattern string) []*clustered.Assignment {
	var found []*clustered.Assignment
	for _, a := range d.Cluster.Streams(account) {
		if rebuild.Restoring(&a.Config) {
			continue // it is not there yet
		}
		if pattern == "" || slices.ContainsFunc(a.Config.Subjects, func(s string) bool { return subjects.Overlap(s, pattern) }) {
			found = append(found, a)
		}
	}
	return found
}

// page returns the names of a page of streams.
func (d *Directory) page(account string, q *api.StreamsRequest, limit int) ([]string, api.Paged) {
	found := d.find(account, q.Subject)
	from, to, page := api.Page(len(found), q.Offset, limit)
	var names []string
	for _, a := range found[from:to] {
		names = append(names, a.Config.Name)
	}
	return names, page
}

// Names lists names.
func (d *Directory) Names(account string, q *api.StreamsRequest) *api.StreamNamesAnswer {
	names, page := d.page(account, q, api.NamesPage)
	return &api.StreamNamesAnswer{Paged: page, Streams: names}
}

// List lists streams with all about them. Those whose leader does not answer are missing.
func (d *Directory) List(account string, q *api.StreamsRequest) *api.StreamListAnswer {
	names, page := d.page(account, q, api.ListPage)
	// All servers are asked, and not the leader of each stream: that is one question for a server, however many streams.
	answer := &api.StreamListAnswer{Paged: page}
	infos := make(map[string]*api.StreamInfo, len(names))
	if len(names) > 0 {
		for _, r := range d.gather(&clustered.Question{Kind: clustered.KindStreams, Account: account, Names: names}) {
			for _, info := range r.Streams {
				infos[info.Config.Name] = info
			}
		}
	}
	for _, name := range names {
		if info := infos[name]; info != nil {
			answer.Streams = append(answer.Streams, info)
		} else {
			answer.Missing = append(answer.Missing, name)
		}
	}
	return answer
}

// gather puts a question to all servers that can be reached.
func (d *Directory) gather(q *clustered.Question) []*clustered.Reply {
	ctx, cancel := context.WithTimeout(d.Context, gatherWait)
	defer cancel()
	return d.Asker.All(ctx, d.Asker.Online(), q)
}

// Usage tells what an account has: streams, and what they reserve, are those that are assigned; the rest is what the servers say
// that can be reached.
func (d *Directory) Usage(account string) quota.ByTier {
	all := make(quota.ByTier)
	for _, a := range d.Cluster.Streams(account) {
		u := all.Of(a.Config.Replicas)
		u.Streams++
		reserved := &u.ReservedStore
		if a.Config.Storage == config.MemoryStorage {
			reserved = &u.ReservedMemory
		}
		*reserved += uint64(max(a.Config.MaxBytes, 0))
	}
	for _, r := range d.gather(&clustered.Question{Kind: clustered.KindUsage, Account: account}) {
		all.Add(r.Usage)
	}
	return all
}

// Show is what infos say about the servers that have a stream.
func (d *Directory) Show(account, name string, id uint64) *api.Cluster {
	a, ok := d.Cluster.Stream(account, name)
	status, known := d.Cluster.Status(id)
	if !ok || a.ID != id || !known {
		return &api.Cluster{Name: d.Cluster.Name()}
	}
	return clustered.Show(d.Cluster.Name(), a, &status)
}

// Alternates are a stream and its mirrors, or the stream that it mirrors and the other mirrors of that: each can be read in the
// place of another. There are none if it has none.
func (d *Directory) Alternates(account string, cfg *config.Stream) []api.Alternate {
	origin := cfg.Name
	if mirrors(cfg) != "" {
		origin = mirrors(cfg)
	}
	alike := slices.Clone(d.Cluster.Mirrors(account, origin))
	if a, ok := d.Cluster.Stream(account, origin); ok {
		alike = append(alike, a)
	}
	slices.SortFunc(alike, func(a, b *clustered.Assignment) int { return strings.Compare(a.Config.Name, b.Config.Name) })
	var list []api.Alternate
	for _, a := range alike {
		list = append(list, api.Alternate{Name: a.Config.Name, Domain: d.Domain, Cluster: d.Cluster.Name()})
	}
	if len(list) < 2 {
		return nil
	}
	return list
}

// mirrors returns the name of the stream of this cluster that another one mirrors, empty if it is no mirror.
func mirrors(cfg *config.Stream) string {
	if cfg.Mirror == nil || cfg.Mirror.External != nil {
		return ""
	}
	return cfg.Mirror.Name
}

// noPeers tells of an error that no server is there for a stream.
func noPeers(err error) bool {
	var wrong *config.Error
	var known *api.Error
	return errors.As(err, &wrong) && wrong.Code == api.NoSuitablePeers ||
		errors.As(err, &known) && known.ErrCode == int(api.NoSuitablePeers)
}

// unsuitable is the error that a server that is asked for cannot lead.
func unsuitable(format string, args ...any) error {
	return api.NewError(api.NoSuitablePeers, fmt.Sprintf(format, args...))
}
