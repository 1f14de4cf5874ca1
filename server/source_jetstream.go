package server

import (
	"fmt"
	"iter"
	"path/filepath"

	"runnel/conf"
	"runnel/server/capacity"
	"runnel/server/jetstream"
	"runnel/server/jetstream/api"
	"runnel/server/monitor"
	"runnel/server/replication/shown"
	"runnel/server/storage"
)

// JetStream implements monitor.Source.
func (src source) JetStream() (monitor.JetStream, bool) {
	service, o, allowed := src.s.jetstream, src.s.state.Load().options, src.s.capacity.Load()
	if service == nil || o.JetStream == nil || allowed == nil {
		return monitor.JetStream{}, false
	}
	js := monitor.JetStream{Config: jetStreamConfig(o.JetStream, *allowed), Limits: monitorLimits(&o.JetStream.Limits)}
	for _, a := range service.Accounts() {
		js.Streams += a.Usage.Streams
		js.Consumers += a.Usage.Consumers
		js.Messages += a.Messages
		js.Bytes += a.Usage.Memory + a.Usage.Store
		js.Stats.Accounts++
		js.Stats.MemoryBytes += a.Usage.Memory
		js.Stats.StorageBytes += a.Usage.Store
		js.Stats.ReservedMemoryBytes += a.Usage.ReservedMemory
		js.Stats.ReservedStorageBytes += a.Usage.ReservedStore
	}
	js.Stats.API = apiStats(service.Requests())
	for _, p := range service.Problems() {
		js.Problems = append(js.Problems, problem(&p))
	}
	if src.s.store.Full() {
		js.Problems = append(js.Problems, monitor.Problem{Text: "the disk is full: publishes to streams that are led here are refused"})
	}
	js.LedStreams, js.LedConsumers = js.Streams, js.Consumers
	if r := src.s.replicated.Replication; r != nil {
		js.Meta = shown.MetaCluster(r)
		js.LedStreams = r.LedStreams()
		js.Problems = append(js.Problems, shown.Behind(r)...)
	}
	return js, true
}

// problem puts into words what is wrong with a stream.
func problem(p *jetstream.Problem) monitor.Problem {
	shown := monitor.Problem{Account: p.Account, Stream: p.Stream, Down: p.Offline != nil}
	switch {
	case shown.Down:
		shown.Text = fmt.Sprintf("cannot be opened: %v", p.Offline)
	case p.Harm != nil:
		shown.Text = fmt.Sprintf("cannot be read as a whole: %v", p.Harm)
	default:
		shown.Text = fmt.Sprintf("%d messages were lost with a part of the disk; everything else is there", p.Lost)
	}
	return shown
}

// jetStreamConfig is what monitoring shows of the options.
func jetStreamConfig(js *conf.JetStream, c capacity.Capacity) monitor.JetStreamConfig {
	return monitor.JetStreamConfig{
		MaxMemoryBytes:  c.MemoryBytes,
		MaxStorageBytes: c.StoreBytes,
		StoreDir:        filepath.Join(js.StoreDir, storeFolder),
		Sync:            storage.Sync(js),
		SyncInterval:    js.SyncInterval,
		SyncAlways:      js.Sync == conf.SyncAlways,
		Domain:          js.Domain,
		CompressOK:      true,
		Encrypted:       js.Key != "",
		UniqueTag:       js.UniqueTag,
		Strict:          js.Strict,
	}
}

// monitorLimits is what monitoring shows of the limits.
func monitorLimits(l *conf.JetStreamLimits) monitor.JetStreamLimits {
	return monitor.JetStreamLimits{
		MaxRequestBatch:           l.MaxRequestBatch,
		MaxAckPending:             l.MaxAckPending,
		MaxHAAssets:               l.MaxHAAssets,
		MaxDuplicateWindow:        l.DuplicateWindow,
		MaxBatchInflightPerStream: l.Batch.MaxInflightPerStream,
		MaxBatchInflightTotal:     l.Batch.MaxInflightTotal,
		MaxBatchMessages:          l.Batch.MaxMessages,
		MaxBatchTimeout:           l.Batch.Timeout,
		DefaultMaxConsumers:       l.DefaultMaxConsumers,
	}
}

func apiStats(s api.APIStats) monitor.JetStreamAPIStats {
	return monitor.JetStreamAPIStats{Level: s.Level, Total: s.Total, Errors: s.Errors, Inflight: s.Inflight}
}

// JetStreamAccounts implements monitor.Source.
func (src source) JetStreamAccounts() []monitor.JetStreamAccount {
	service := src.s.jetstream
	if service == nil {
		return nil
	}
	var accounts []monitor.JetStreamAccount
	for _, a := range service.Accounts() {
		accounts = append(accounts, monitor.JetStreamAccount{
			Name: a.Name, ID: a.Name,
			JetStreamStats: monitor.JetStreamStats{
				MemoryBytes: a.Usage.Memory, StorageBytes: a.Usage.Store,
				// What an account states is reserved for it; -1 shows as it does in nats-server.
				ReservedMemoryBytes: uint64(a.Usage.Limits.MaxMemory), ReservedStorageBytes: uint64(a.Usage.Limits.MaxStore),
				API: apiStats(a.API),
			},
		})
	}
	return accounts
}

// JetStreamStreams implements monitor.Source.
func (src source) JetStreamStreams(account string, q monitor.StreamQuery) iter.Seq[monitor.StreamDetail] {
	service := src.s.jetstream
	if service == nil {
		return func(func(monitor.StreamDetail) bool) {}
	}
	query := jetstream.ViewQuery{Stream: q.Stream, Subjects: q.Subjects, Dead: q.Dead, Consumers: q.Consumers, Consumer: q.Consumer}
	return func(yield func(monitor.StreamDetail) bool) {
		for v := range service.Streams(account, query) {
			if !yield(streamDetail(&v, q.Config)) {
				return
			}
		}
	}
}

// streamDetail is a stream as monitoring shows it, with its configuration if that is asked for.
func streamDetail(v *jetstream.StreamView, withConfig bool) monitor.StreamDetail {
	d := monitor.StreamDetail{
		Name: v.Name, Created: v.Info.Created, Cluster: v.Info.Cluster, State: v.Info.State,
		Lost: v.Lost, Mirror: v.Info.Mirror, Sources: v.Info.Sources, Sync: v.Info.Sync,
		Dead: v.Dead, Owed: v.Info.Owed,
	}
	if withConfig && v.Offline == nil {
		d.Config = v.Info.Config
	}
	for _, c := range v.Consumers {
		detail := monitor.ConsumerDetail{ConsumerInfo: *c}
		if withConfig {
			detail.Config = c.Config
		}
		d.Consumers = append(d.Consumers, detail)
	}
	return d
}
