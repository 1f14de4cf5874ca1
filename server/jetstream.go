package server

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"runnel/conf"
	"runnel/jetlog/store"
	"runnel/server/accounts"
	"runnel/server/allowance"
	"runnel/server/capacity"
	"runnel/server/jetstream"
	"runnel/server/jetstream/quota"
	"runnel/server/storage"
)

// storeFolder is the folder below store_dir that is the store's: others may have something there too.
const storeFolder = "runnel"

// spoolFolder is the folder below store_dir for files that live as long as a restore.
const spoolFolder = "runnel-spool"

// openJetStream opens the store and the service over it, if the options ask for it.
func (s *Server) openJetStream(o *conf.Options) error {
	js := o.JetStream
	if js == nil || !js.Enabled {
		return nil
	}
	dir := filepath.Join(js.StoreDir, storeFolder)
	spool := filepath.Join(js.StoreDir, spoolFolder)
	shares := s.memory.Shares()
	cfg, err := storage.Store(js, dir, shares, s.logger)
	if err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	cfg.FS, cfg.OnFailed = s.host.Disk, s.storeFailed
	if s.host.Tune != nil {
		s.host.Tune(&cfg)
	}
	began := time.Now()
	opened, report, err := store.Open(cfg)
	if err != nil {
		return fmt.Errorf("jetstream: open the store in %s: %w", dir, err)
	}
	s.store = opened
	// After the store, which makes its directories so that a power cut leaves them. What clients send to be restored is on its way
	// only, and on the real disk in any case.
	if err := os.MkdirAll(spool, 0o750); err != nil {
		return fmt.Errorf("jetstream: store directory: %w", err)
	}
	c := capacity.Of(js, s.host.Disk, dir, opened, shares)
	s.capacity.Store(&c)
	storage.LogReport(s.logger, dir, report, len(opened.Streams()))
	if err := s.newReplication(o, c, report.New); err != nil {
		return err
	}
	service := storage.Service(js, c, shares)
	service.Cluster, service.Store, service.Engine = s.replicated.cluster(), opened, s.engine
	service.System = func() *accounts.Account { return s.state.Load().policy.System() }
	service.ServerName, service.ServerID, service.Version = s.Name(), s.id, NATSVersion
	service.SpoolDir, service.Hold, service.Logger = spool, s.memory.Hold, s.logger
	service.Clock = s.host.Clock
	s.jetstream = jetstream.New(service)
	s.running.Go(s.watchDisk)
	s.serveAccounts(s.state.Load())
	s.loadStored()
	s.logger.Info("JetStream is ready", "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// storeFailed ends the server: the disk did not keep what it was given, so nothing that comes from now on could be
// acknowledged, and what is on disk is known only after a start.
func (s *Server) storeFailed(err error) {
	s.end.failure.CompareAndSwap(nil, &err)
	s.logger.Error("the server stops, since its disk has failed; start it again when the disk is well", "error", err)
	_ = s.Close() // it closes what the failure has left
}

// serveAccounts tells the service which accounts there are. s.mu is held, or nobody else knows the server yet.
func (s *Server) serveAccounts(st *state) {
	if s.jetstream == nil {
		return
	}
	var cfgs []jetstream.AccountConfig
	for a := range st.policy.Accounts() {
		cfgs = append(cfgs, jetstream.AccountConfig{Account: a, Limits: s.limitsOf(st, a)})
	}
	s.jetstream.SetAccounts(cfgs)
}

// serveLimits tells the service what it may allow from now on. s.mu is held.
func (s *Server) serveLimits(o *conf.Options) {
	if s.jetstream == nil {
		return
	}
	c := capacity.Of(o.JetStream, s.host.Disk, filepath.Join(o.JetStream.StoreDir, storeFolder), s.store, s.memory.Shares())
	s.capacity.Store(&c)
	s.jetstream.SetLimits(storage.Limits(o.JetStream, c))
}

// limitsOf is what an account may keep, as its claims or the options say; nil if it may not keep anything.
func (s *Server) limitsOf(st *state, a *accounts.Account) *quota.Limits {
	if s.tenants == nil {
		return allowance.Configured(st.options, a.Name())
	}
	if t := s.tenants.known(a.Name()); t != nil {
		return allowance.Claimed(t.claims.Load().JetStream())
	}
	return nil
}

// flushStore writes what the store has in memory into files, so that the next start has little of the log to read again.
// The log has it all as well: if it does not succeed the start takes longer.
func (s *Server) flushStore() {
	if s.store == nil {
		return
	}
	if err := s.store.Flush(); err != nil {
		s.logger.Warn("JetStream store was not flushed, the next start reads the log", "error", err)
	}
}

// closeJetStream ends the service and then the store. It does nothing without one, or when called again.
func (s *Server) closeJetStream() {
	if s.jetstream != nil {
		s.jetstream.Close()
	}
	if s.store != nil {
		if err := s.store.Close(); err != nil {
			s.logger.Error("JetStream store did not close well", "error", err)
		}
	}
}
