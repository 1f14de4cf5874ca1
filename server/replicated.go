package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"runnel/cluster/meta"
	metastate "runnel/cluster/meta/state"
	"runnel/cluster/replicas"
	"runnel/cluster/transport"
	"runnel/conf"
	"runnel/server/capacity"
	"runnel/server/jetstream/clustered"
	"runnel/server/replication"
)

// replicationFolder is the folder below store_dir of what the server has agreed on with others.
const replicationFolder = "runnel-cluster"

// replicated is the server's part in keeping streams together with others; empty for a server that keeps its own.
type replicated struct {
	*replication.Replication
	size *replication.Size
}

// cluster is what the service of streams sees, nil for nothing.
func (r *replicated) cluster() clustered.Cluster {
	if r.Replication == nil {
		return nil
	}
	return r.Replication
}

// newReplication prepares to keep streams together with the other servers of the cluster, if there are to be any. The store is
// open; fresh says that it has just been made.
func (s *Server) newReplication(o *conf.Options, c capacity.Capacity, fresh bool) (err error) {
	if o.Cluster == nil {
		return nil
	}
	dir := filepath.Join(o.JetStream.StoreDir, replicationFolder)
	if err := errors.Join(s.host.Disk.MkdirAll(dir), s.host.Disk.SyncDir(o.JetStream.StoreDir)); err != nil {
		return fmt.Errorf("jetstream: directory of the cluster: %w", err)
	}
	if fresh && meta.HasNodeID(s.host.Disk, dir) {
		return fmt.Errorf("jetstream: what this server has stored is gone, but not who it is in the cluster: it may have forgotten what it has "+
			"confirmed. Restore the store, or remove %s too, so that the server joins as a new one", dir)
	}
	s.replicated.size = &replication.Size{
		Fixed: o.Cluster.Size, Routes: o.Cluster.Routes, Advertise: o.Cluster.Advertise,
		Lookup: net.DefaultResolver.LookupHost, Local: net.InterfaceAddrs,
	}
	s.replicated.Replication, err = replication.New(replication.Config{
		Disk: s.host.Disk, Dir: dir, MetaLog: s.host.MetaLog,
		Self: metastate.Member{
			Name: s.Name(), Cluster: o.Cluster.Name, Tags: o.ServerTags, Level: featureLevel,
			MaxStoreBytes: c.StoreBytes, MaxMemoryBytes: c.MemoryBytes, MaxReplicated: max(o.JetStream.Limits.MaxHAAssets, 0),
		},
		ClusterName: func() string { return s.cluster.Load().View().Name },
		Size:        s.replicated.size.Value,
		Secured:     o.Cluster.TLS != nil || o.Cluster.Authorization.Username != "",
		UniqueTag:   o.JetStream.UniqueTag,
		Usage:       s.replicationUsage,
		Rate:        o.JetStream.CatchupRateBytes,

		OutstandingBytes: o.JetStream.MaxOutstandingCatchup,

		Logger: s.logger,
	})
	return err
}

// replicationUsage is what the streams of this server take up.
func (s *Server) replicationUsage() meta.Usage {
	u := meta.Usage{}
	for _, a := range s.jetstream.Accounts() {
		u.StoreBytes += int64(a.Usage.Store)
		u.MemoryBytes += int64(a.Usage.Memory)
	}
	u.Streams, u.Full = s.store.Count(), s.store.Full()
	if free, err := s.host.Disk.FreeBytes(s.state.Load().options.JetStream.StoreDir); err == nil {
		u.FreeBytes = free
	}
	return u
}

// startReplication takes part in the cluster's streams, once other servers can be met.
func (s *Server) startReplication() error {
	r := s.replicated.Replication
	if r == nil {
		return nil
	}
	if a, ok := s.listeners.addr(listenerCluster).(*net.TCPAddr); ok {
		s.replicated.size.Port = a.Port
	}
	return r.Start(s.jetstream, func(t *transport.Transport, m *meta.Meta, service replication.Service) (replication.Groups, error) {
		return replicas.Open(replicas.Config{
			Self: r.Node(), Meta: m, Store: s.store, Transport: t, Service: service, QuorumLost: service.QuorumLost, Logger: s.logger,
		})
	})
}

// closeReplication ends it. What this server leads is handed over first. It does nothing when called again.
func (s *Server) closeReplication() {
	if s.replicated.Replication == nil {
		return
	}
	if err := s.replicated.Close(); err != nil {
		s.logger.Error("replication did not close well", "error", err)
	}
}

// resign hands over what this server leads, and leads nothing more.
func (s *Server) resign(ctx context.Context) {
	if s.replicated.Replication != nil {
		s.replicated.Resign(ctx)
	}
}
