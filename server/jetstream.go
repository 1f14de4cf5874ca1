package server

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"runnel/conf"
	"runnel/jetlog/seal"
	"runnel/jetlog/segment"
	"runnel/jetlog/store"
	"runnel/jetlog/wal"
	"runnel/server/accounts"
	"runnel/server/allowance"
	"runnel/server/capacity"
	"runnel/server/jetstream"
	"runnel/server/jetstream/ingest"
	"runnel/server/jetstream/quota"
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
	cfg, err := storeConfig(js, dir, s.logger)
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
	c := capacity.Of(js, s.host.Disk, dir, opened)
	s.capacity.Store(&c)
	logReport(s.logger, dir, report, len(opened.Streams()))
	if err := s.newReplication(o, c, report.New); err != nil {
		return err
	}
	s.jetstream = jetstream.New(jetstream.Config{
		Cluster:       s.replicated.cluster(),
		Store:         opened,
		Engine:        s.engine,
		System:        func() *accounts.Account { return s.state.Load().policy.System() },
		ServerName:    s.Name(),
		ServerID:      s.id,
		Version:       NATSVersion,
		Domain:        js.Domain,
		Lenient:       !js.Strict,
		Sync:          shownSync(js),
		SpoolDir:      spool,
		Limits:        jetStreamLimits(js, c),
		QueueMessages: js.MaxBufferedMessages,
		QueueBytes:    int(js.MaxBufferedBytes),
		Batch: ingest.BatchLimits{
			PerStream: js.Limits.Batch.MaxInflightPerStream,
			Total:     js.Limits.Batch.MaxInflightTotal,
			Messages:  js.Limits.Batch.MaxMessages,
			Timeout:   js.Limits.Batch.Timeout,
		},
		Logger: s.logger,
	})
	s.running.Go(s.watchDisk)
	s.serveAccounts(s.state.Load())
	s.loadStored()
	s.logger.Info("JetStream is ready", "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// storeFailed ends the server: the disk did not keep what it was given, so nothing that comes from now on could be
// acknowledged, and what is on disk is known only after a start.
func (s *Server) storeFailed(err error) {
	s.failure.CompareAndSwap(nil, &err)
	s.logger.Error("the server stops, since its disk has failed; start it again when the disk is well", "error", err)
	_ = s.Close() // it closes what the failure has left
}

// storeConfig is the store's part of the options.
func storeConfig(js *conf.JetStream, dir string, logger *slog.Logger) (store.Config, error) {
	cfg := store.Config{Dir: dir, Interval: js.SyncInterval, Logger: logger}
	switch js.Sync {
	case conf.SyncInterval:
		cfg.Policy = wal.Interval
	case conf.SyncOS:
		cfg.Policy = wal.OS
	}
	var err error
	cfg.Encryption, err = encryption(js)
	return cfg, err
}

// encryption is how the store is encrypted. Without a key and with the one before it, what was encrypted can be read,
// and nothing more is.
func encryption(js *conf.JetStream) (e seal.Encryption, err error) {
	if js.Key != "" {
		if e.Key, err = seal.KeyOf(js.Key); err != nil {
			return e, err
		}
	}
	if js.PrevKey != "" {
		previous, err := seal.KeyOf(js.PrevKey)
		if err != nil {
			return e, err
		}
		e.Previous = append(e.Previous, previous)
	}
	if js.Cipher == conf.CipherAES {
		e.Cipher = segment.AES256GCM
	}
	return e, nil
}

// shownSync is the policy as stream infos show it.
func shownSync(js *conf.JetStream) string {
	if js.Sync == conf.SyncInterval {
		return fmt.Sprintf("interval=%s", js.SyncInterval)
	}
	return string(js.Sync)
}

func jetStreamLimits(js *conf.JetStream, c capacity.Capacity) jetstream.Limits {
	return jetstream.Limits{
		MaxMemoryBytes:      c.MemoryBytes,
		MaxStoreBytes:       c.StoreBytes,
		DuplicateWindow:     js.Limits.DuplicateWindow,
		MaxAckPending:       js.Limits.MaxAckPending,
		MaxRequestBatch:     js.Limits.MaxRequestBatch,
		DefaultMaxConsumers: js.Limits.DefaultMaxConsumers,
		MaxRequests:         js.RequestQueueLimit,
		MaxLooks:            js.InfoQueueLimit,
	}
}

// logReport tells what was found when the store was opened: what a process leaves that was killed, and damage without
// consequence, is no reason to worry. Streams that do not start have said so themselves.
func logReport(logger *slog.Logger, dir string, r *store.Report, streams int) {
	logger.Info("JetStream store is open", "dir", dir, "streams", streams, "replayed", r.Replayed)
	if r.Torn != nil {
		logger.Info("the end of the log was being written when the process ended, and was cut off: nothing that was safe is lost", "torn", r.Torn.String())
	}
	if r.Manifest != nil {
		logger.Info("the end of the manifest was being written when the process ended, and was cut off: nothing that was safe is lost",
			"file", r.Manifest.File, "offset", r.Manifest.Offset, "bytes", r.Manifest.Bytes)
	}
	for _, d := range r.Damage {
		if d.Harmless {
			logger.Warn("the log is damaged where nothing was: nothing is lost", "damage", d.String())
		} else {
			logger.Error("the log is damaged", "damage", d.String())
		}
	}
	for _, note := range r.Notes {
		logger.Warn("a file of the log was not as it was left", "note", note)
	}
	for _, name := range r.Aside {
		logger.Warn("a file is not this store's and was set aside", "file", name)
	}
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
	c := capacity.Of(o.JetStream, s.host.Disk, filepath.Join(o.JetStream.StoreDir, storeFolder), s.store)
	s.capacity.Store(&c)
	s.jetstream.SetLimits(jetStreamLimits(o.JetStream, c))
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
