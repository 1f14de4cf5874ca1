package conf

import "time"

var jetStreamKeys = []key[JetStream]{
	row("enabled enable", ReloadYes, "Switch JetStream on.",
		func(j *JetStream) slot { return flag(&j.Enabled) }),
	row("store_dir store storedir", reloadInherit, "Folder that the folder jetstream is made in.",
		func(j *JetStream) slot { return orElse(text(&j.StoreDir), "a temporary folder") }),
	row("max_memory_store max_mem_store max_mem", ReloadRaise, "Bytes in memory streams, -1 for 75 % of the memory.",
		func(j *JetStream) slot { return storeSize(&j.MaxMemoryBytes) }),
	row("max_file_store max_file", ReloadRaise, "Bytes in file streams, -1 for 75 % of the free disk.",
		func(j *JetStream) slot { return storeSize(&j.MaxStoreBytes) }),
	row("sync_interval sync", reloadInherit, "Pause between syncs of the disk, or always.",
		func(j *JetStream) slot { return syncInterval(j) }),
	row("domain", reloadInherit, "Name that sets these streams apart from those of other clusters.",
		func(j *JetStream) slot { return text(&j.Domain) }),
	row("key ek encryption_key", reloadInherit, "Key that encrypts streams at rest.",
		func(j *JetStream) slot { return secret(text(&j.Key)) }),
	row("prev_key prev_ek prev_encryption_key", reloadInherit, "The key before, while it is changed.",
		func(j *JetStream) slot { return secret(text(&j.PrevKey)) }),
	row("cipher", reloadInherit, "Cipher of encryption at rest: chacha or aes.",
		func(j *JetStream) slot { return cipher(&j.Cipher) }),
	row("tpm", reloadInherit, "Keep the key in a trusted platform module.",
		func(j *JetStream) slot { return block(&j.TPM, tpmKeys, zero[TPM]) }),
	row("extension_hint", reloadInherit, "Whether leaf nodes extend this cluster: will_extend or no_extend.",
		func(j *JetStream) slot { return text(&j.ExtensionHint) }),
	row("unique_tag", reloadInherit, "Put replicas on servers with different tags of this prefix.",
		func(j *JetStream) slot { return text(&j.UniqueTag) }),
	row("strict", reloadInherit, "Refuse requests with unknown fields.",
		func(j *JetStream) slot { return flag(&j.Strict) }),
	row("limits", ReloadYes, "What one request may ask for.",
		func(j *JetStream) slot { return part(&j.Limits, jetStreamLimitsKeys, newJetStreamLimits) }),
	row("max_outstanding_catchup", reloadInherit, "Bytes on their way to replicas that catch up.",
		func(j *JetStream) slot { return storeSize(&j.MaxOutstandingCatchup) }),
	row("max_buffered_size", reloadInherit, "Bytes that wait to enter a stream.",
		func(j *JetStream) slot { return storeSize(&j.MaxBufferedBytes) }),
	row("max_buffered_msgs", reloadInherit, "Messages that wait to enter a stream.",
		func(j *JetStream) slot { return count(&j.MaxBufferedMessages, 0, maxCount) }),
	row("request_queue_limit", reloadInherit, "Requests that wait to be answered.",
		func(j *JetStream) slot { return count(&j.RequestQueueLimit, 0, maxCount) }),
	row("info_queue_limit", reloadInherit, "Requests for information that wait to be answered.",
		func(j *JetStream) slot {
			return orElse(count(&j.InfoQueueLimit, 0, maxCount), "that of request_queue_limit")
		}),
	row("meta_compact", ReloadYes, "Entries after which the cluster's own log is compacted, 0 for the built-in rule.",
		func(j *JetStream) slot { return count(&j.MetaCompactEntries, 0, maxCount) }),
	row("meta_compact_size", ReloadYes, "Bytes after which the cluster's own log is compacted, 0 for the built-in rule.",
		func(j *JetStream) slot { return storeSize(&j.MetaCompactBytes) }),
	row("meta_compact_sync", ReloadYes, "Sync while the cluster's own log is compacted.",
		func(j *JetStream) slot { return flag(&j.MetaCompactSync) }),
	row("max_concurrent_io", reloadInherit, "Disk operations at a time.",
		func(j *JetStream) slot { return count(&j.MaxConcurrentDiskAccess, 0, maxCount) }),
}

func newJetStream() *JetStream {
	return &JetStream{
		Enabled: true, MaxMemoryBytes: unlimited, MaxStoreBytes: unlimited, SyncInterval: 2 * time.Minute,
		Strict: true, Limits: *newJetStreamLimits(), MaxOutstandingCatchup: 64 << 20,
		MaxBufferedBytes: 128 << 20, MaxBufferedMessages: 100000, RequestQueueLimit: 10000,
		MaxConcurrentDiskAccess: 4096,
	}
}

var jetStreamLimitsKeys = []key[JetStreamLimits]{
	row("default_max_consumers", reloadInherit, "Consumers of a stream that does not say.",
		func(l *JetStreamLimits) slot { return count(&l.DefaultMaxConsumers, -1, maxCount) }),
	row("max_ack_pending", reloadInherit, "Unacknowledged messages of a consumer, 0 for no limit.",
		func(l *JetStreamLimits) slot { return count(&l.MaxAckPending, -1, maxCount) }),
	row("max_ha_assets", reloadInherit, "Replicated streams and consumers on this server, 0 for no limit.",
		func(l *JetStreamLimits) slot { return count(&l.MaxHAAssets, -1, maxCount) }),
	row("max_request_batch", reloadInherit, "Messages of one pull request, 0 for no limit.",
		func(l *JetStreamLimits) slot { return count(&l.MaxRequestBatch, -1, maxCount) }),
	row("duplicate_window", reloadInherit, "Longest duplicate window, 0 for no limit.",
		func(l *JetStreamLimits) slot { return duration(&l.DuplicateWindow) }),
	row("batch", reloadInherit, "Limits of atomic batches.",
		func(l *JetStreamLimits) slot { return part(&l.Batch, batchKeys, zero[BatchLimits]) }),
}

func newJetStreamLimits() *JetStreamLimits { return &JetStreamLimits{DefaultMaxConsumers: 1000} }

var batchKeys = []key[BatchLimits]{
	row("max_inflight_per_stream", reloadInherit, "Open batches of a stream, 0 for the built-in limit.",
		func(b *BatchLimits) slot { return count(&b.MaxInflightPerStream, 0, maxCount) }),
	row("max_inflight_total", reloadInherit, "Open batches of the server, 0 for the built-in limit.",
		func(b *BatchLimits) slot { return count(&b.MaxInflightTotal, 0, maxCount) }),
	row("max_msgs", reloadInherit, "Messages of a batch, 0 for the built-in limit.",
		func(b *BatchLimits) slot { return count(&b.MaxMessages, 0, maxCount) }),
	row("timeout", reloadInherit, "Time after which a silent batch is given up, 0 for the built-in one.",
		func(b *BatchLimits) slot { return duration(&b.Timeout) }),
}

var tpmKeys = []key[TPM]{
	row("keys_file", reloadInherit, "File of the sealed keys.",
		func(t *TPM) slot { return text(&t.KeysFile) }),
	row("encryption_password", reloadInherit, "Password of the sealed keys.",
		func(t *TPM) slot { return secret(text(&t.EncryptionPassword)) }),
	row("srk_password", reloadInherit, "Password of the storage root key.",
		func(t *TPM) slot { return secret(text(&t.SRKPassword)) }),
	row("pcr", reloadInherit, "Platform configuration register to bind to.",
		func(t *TPM) slot { return count(&t.PCR, 0, maxCount) }),
	row("cipher", reloadInherit, "Cipher of encryption at rest: chacha or aes.",
		func(t *TPM) slot { return cipher(&t.Cipher) }),
}
