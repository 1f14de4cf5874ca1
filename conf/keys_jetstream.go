package conf

import "time"

var jetStreamKeys = []key[JetStream]{
	{"enabled enable", ReloadYes, "Switch JetStream on.",
		func(j *JetStream) slot { return flag(&j.Enabled) }},
	{"store_dir store storedir", reloadInherit, "Folder that the folder jetstream is made in.",
		func(j *JetStream) slot { return orElse(text(&j.StoreDir), "a temporary folder") }},
	{"max_memory_store max_mem_store max_mem", ReloadRaise, "Bytes in memory streams, -1 for 75 % of the memory.",
		func(j *JetStream) slot { return storeSize(&j.MaxMemoryBytes) }},
	{"max_file_store max_file", ReloadRaise, "Bytes in file streams, -1 for 75 % of the free disk.",
		func(j *JetStream) slot { return storeSize(&j.MaxStoreBytes) }},
	{"sync_interval sync", reloadInherit, "Pause between syncs of the disk, or always.",
		func(j *JetStream) slot { return syncInterval(j) }},
	{"domain", reloadInherit, "Name that sets these streams apart from those of other clusters.",
		func(j *JetStream) slot { return text(&j.Domain) }},
	{"key ek encryption_key", reloadInherit, "Key that encrypts streams at rest.",
		func(j *JetStream) slot { return secret(text(&j.Key)) }},
	{"prev_key prev_ek prev_encryption_key", reloadInherit, "The key before, while it is changed.",
		func(j *JetStream) slot { return secret(text(&j.PrevKey)) }},
	{"cipher", reloadInherit, "Cipher of encryption at rest: chacha or aes.",
		func(j *JetStream) slot { return cipher(&j.Cipher) }},
	{"tpm", reloadInherit, "Keep the key in a trusted platform module.",
		func(j *JetStream) slot { return block(&j.TPM, tpmKeys, zero[TPM]) }},
	{"extension_hint", reloadInherit, "Whether leaf nodes extend this cluster: will_extend or no_extend.",
		func(j *JetStream) slot { return text(&j.ExtensionHint) }},
	{"unique_tag", reloadInherit, "Put replicas on servers with different tags of this prefix.",
		func(j *JetStream) slot { return text(&j.UniqueTag) }},
	{"strict", reloadInherit, "Refuse requests with unknown fields.",
		func(j *JetStream) slot { return flag(&j.Strict) }},
	{"limits", ReloadYes, "What one request may ask for.",
		func(j *JetStream) slot { return part(&j.Limits, jetStreamLimitsKeys, newJetStreamLimits) }},
	{"max_outstanding_catchup", reloadInherit, "Bytes on their way to replicas that catch up.",
		func(j *JetStream) slot { return storeSize(&j.MaxOutstandingCatchup) }},
	{"max_buffered_size", reloadInherit, "Bytes that wait to enter a stream.",
		func(j *JetStream) slot { return storeSize(&j.MaxBufferedBytes) }},
	{"max_buffered_msgs", reloadInherit, "Messages that wait to enter a stream.",
		func(j *JetStream) slot { return count(&j.MaxBufferedMessages, 0, maxCount) }},
	{"request_queue_limit", reloadInherit, "Requests that wait to be answered.",
		func(j *JetStream) slot { return count(&j.RequestQueueLimit, 0, maxCount) }},
	{"info_queue_limit", reloadInherit, "Requests for information that wait to be answered.",
		func(j *JetStream) slot {
			return orElse(count(&j.InfoQueueLimit, 0, maxCount), "that of request_queue_limit")
		}},
	{"meta_compact", ReloadYes, "Entries after which the cluster's own log is compacted, 0 for the built-in rule.",
		func(j *JetStream) slot { return count(&j.MetaCompactEntries, 0, maxCount) }},
	{"meta_compact_size", ReloadYes, "Bytes after which the cluster's own log is compacted, 0 for the built-in rule.",
		func(j *JetStream) slot { return storeSize(&j.MetaCompactBytes) }},
	{"meta_compact_sync", ReloadYes, "Sync while the cluster's own log is compacted.",
		func(j *JetStream) slot { return flag(&j.MetaCompactSync) }},
	{"max_concurrent_io", reloadInherit, "Disk operations at a time.",
		func(j *JetStream) slot { return count(&j.MaxConcurrentDiskAccess, 0, maxCount) }},
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
	{"default_max_consumers", reloadInherit, "Consumers of a stream that does not say.",
		func(l *JetStreamLimits) slot { return count(&l.DefaultMaxConsumers, -1, maxCount) }},
	{"max_ack_pending", reloadInherit, "Unacknowledged messages of a consumer, 0 for no limit.",
		func(l *JetStreamLimits) slot { return count(&l.MaxAckPending, -1, maxCount) }},
	{"max_ha_assets", reloadInherit, "Replicated streams and consumers on this server, 0 for no limit.",
		func(l *JetStreamLimits) slot { return count(&l.MaxHAAssets, -1, maxCount) }},
	{"max_request_batch", reloadInherit, "Messages of one pull request, 0 for no limit.",
		func(l *JetStreamLimits) slot { return count(&l.MaxRequestBatch, -1, maxCount) }},
	{"duplicate_window", reloadInherit, "Longest duplicate window, 0 for no limit.",
		func(l *JetStreamLimits) slot { return duration(&l.DuplicateWindow) }},
	{"batch", reloadInherit, "Limits of atomic batches.",
		func(l *JetStreamLimits) slot { return part(&l.Batch, batchKeys, zero[BatchLimits]) }},
}

func newJetStreamLimits() *JetStreamLimits { return &JetStreamLimits{DefaultMaxConsumers: 1000} }

var batchKeys = []key[BatchLimits]{
	{"max_inflight_per_stream", reloadInherit, "Open batches of a stream, 0 for the built-in limit.",
		func(b *BatchLimits) slot { return count(&b.MaxInflightPerStream, 0, maxCount) }},
	{"max_inflight_total", reloadInherit, "Open batches of the server, 0 for the built-in limit.",
		func(b *BatchLimits) slot { return count(&b.MaxInflightTotal, 0, maxCount) }},
	{"max_msgs", reloadInherit, "Messages of a batch, 0 for the built-in limit.",
		func(b *BatchLimits) slot { return count(&b.MaxMessages, 0, maxCount) }},
	{"timeout", reloadInherit, "Time after which a silent batch is given up, 0 for the built-in one.",
		func(b *BatchLimits) slot { return duration(&b.Timeout) }},
}

var tpmKeys = []key[TPM]{
	{"keys_file", reloadInherit, "File of the sealed keys.",
		func(t *TPM) slot { return text(&t.KeysFile) }},
	{"encryption_password", reloadInherit, "Password of the sealed keys.",
		func(t *TPM) slot { return secret(text(&t.EncryptionPassword)) }},
	{"srk_password", reloadInherit, "Password of the storage root key.",
		func(t *TPM) slot { return secret(text(&t.SRKPassword)) }},
	{"pcr", reloadInherit, "Platform configuration register to bind to.",
		func(t *TPM) slot { return count(&t.PCR, 0, maxCount) }},
	{"cipher", reloadInherit, "Cipher of encryption at rest: chacha or aes.",
		func(t *TPM) slot { return cipher(&t.Cipher) }},
}
