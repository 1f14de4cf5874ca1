// Package storage says how the store and the service of streams are to be opened: from the options, what the memory budget allows, and what
// the machine has.
package storage

import (
	"fmt"
	"log/slog"

	"runnel/conf"
	"runnel/jetlog/seal"
	"runnel/jetlog/segment"
	"runnel/jetlog/store"
	"runnel/jetlog/wal"
	"runnel/server/capacity"
	"runnel/server/jetstream"
	"runnel/server/jetstream/ingest"
	"runnel/server/memory"
)

// Store is how the store in a directory is opened.
func Store(js *conf.JetStream, dir string, shares memory.Shares, logger *slog.Logger) (store.Config, error) {
	cfg := store.Config{
		Dir: dir, Interval: js.SyncInterval, Logger: logger,
		FlushBytes: shares.FlushBytes, MemoryBytes: shares.TablesBytes, CacheBytes: shares.CacheBytes,
	}
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

// Sync is the policy as stream infos show it.
func Sync(js *conf.JetStream) string {
	if js.Sync == conf.SyncInterval {
		return fmt.Sprintf("interval=%s", js.SyncInterval)
	}
	return string(js.Sync)
}

// Service is what the options and the budget say of the service; whoever opens it knows the rest.
func Service(js *conf.JetStream, c capacity.Capacity, shares memory.Shares) jetstream.Config {
	return jetstream.Config{
		Domain:        js.Domain,
		Lenient:       !js.Strict,
		Sync:          Sync(js),
		Limits:        Limits(js, c),
		QueueMessages: js.MaxBufferedMessages,
		QueueBytes:    int(js.MaxBufferedBytes),
		TotalBytes:    shares.IngestBytes,
		Batch: ingest.BatchLimits{
			PerStream: js.Limits.Batch.MaxInflightPerStream,
			Total:     js.Limits.Batch.MaxInflightTotal,
			Messages:  js.Limits.Batch.MaxMessages,
			Timeout:   js.Limits.Batch.Timeout,
		},
	}
}

// Limits are what all streams of a server may have and do.
func Limits(js *conf.JetStream, c capacity.Capacity) jetstream.Limits {
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

// LogReport tells what was found when the store was opened: what a process leaves that was killed, and damage without
// consequence, is no reason to worry. Streams that do not start have said so themselves.
func LogReport(logger *slog.Logger, dir string, r *store.Report, streams int) {
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
