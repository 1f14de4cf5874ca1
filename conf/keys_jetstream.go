package conf

// jetStreamKeys are those of the block `jetstream`. What a reload may change is
// what the streams that exist need not be opened again for.
var jetStreamKeys = []key[JetStream]{
	row("enabled enable", reloadInherit, "Switch JetStream on. Without this key the block does it.",
		func(j *JetStream) slot { return flag(&j.Enabled) }),
	row("store_dir store storedir dir", reloadInherit, "Folder that streams are kept in, made if it is missing. A relative path begins at the working directory.",
		func(j *JetStream) slot { return orElse(text(&j.StoreDir), "that of store_dir, else "+DefaultStoreDir) }),
	row("max_memory_store max_mem_store max_mem", ReloadRaise, "Bytes in memory streams, 0 for none, -1 for 75 % of the memory.",
		func(j *JetStream) slot { return storeSize(&j.MaxMemoryBytes) }),
	row("max_file_store max_file", ReloadRaise, "Bytes in file streams, 0 for none, -1 for 75 % of the free disk.",
		func(j *JetStream) slot { return storeSize(&j.MaxStoreBytes) }),
	row("sync sync_interval", reloadInherit, "What an acknowledgement waits for. always: it is on the disk. interval=100ms, or a duration alone: "+
		"it was given to the operating system, and a sync follows within that time. os: the same without a sync. "+
		"With the last two a power cut loses what was acknowledged.",
		func(j *JetStream) slot { return syncSlot{&j.Sync, &j.SyncInterval} }),
	row("domain", reloadInherit, "Name that sets these streams apart from those of other servers, one token of a subject.",
		func(j *JetStream) slot { return text(&j.Domain) }),
	row("key ek encryption_key", reloadInherit, "Key that encrypts streams at rest, a text of any length; best from the environment, as $NAME.",
		func(j *JetStream) slot { return secret(text(&j.Key)) }),
	row("prev_key prev_ek prev_encryption_key", reloadInherit, "The key before: reads what it encrypted, while everything new is written with key.",
		func(j *JetStream) slot { return secret(text(&j.PrevKey)) }),
	row("cipher", reloadInherit, "Cipher of encryption at rest: chacha or aes.",
		func(j *JetStream) slot { return cipherSlot{&j.Cipher} }),
	row("tpm", reloadInherit, "Keep the key in a trusted platform module.",
		func(j *JetStream) slot { return block(&j.TPM, tpmKeys, newTPM) }),
	row("strict", reloadInherit, "Refuse requests with unknown fields.",
		func(j *JetStream) slot { return flag(&j.Strict) }),
	row("limits", ReloadYes, "What one request may ask for.",
		func(j *JetStream) slot { return part(&j.Limits, jetStreamLimitsKeys, newJetStreamLimits) }),
	row("max_buffered_size", reloadInherit, "Bytes that wait to enter one stream; what comes on top is refused with 429.",
		func(j *JetStream) slot { return storeSize(&j.MaxBufferedBytes) }),
	row("max_buffered_msgs", reloadInherit, "Messages that wait to enter one stream; what comes on top is refused with 429.",
		func(j *JetStream) slot { return count(&j.MaxBufferedMessages, 0, maxCount) }),
	row("request_queue_limit", reloadInherit, "Requests to the API that wait to be answered; what comes on top is dropped.",
		func(j *JetStream) slot { return count(&j.RequestQueueLimit, 0, maxCount) }),
	row("info_queue_limit", reloadInherit, "Requests for information that wait to be answered.",
		func(j *JetStream) slot {
			return orElse(count(&j.InfoQueueLimit, 0, maxCount), "that of request_queue_limit")
		}),
	row("extension_hint", reloadInherit, "Whether leaf nodes extend this cluster: will_extend or no_extend.",
		func(j *JetStream) slot { return text(&j.ExtensionHint) }),
	row("unique_tag", reloadInherit, "Put replicas on servers with different tags of this prefix. A server alone has no replicas.",
		func(j *JetStream) slot { return text(&j.UniqueTag) }),
	row("max_outstanding_catchup", reloadInherit, "Bytes of files on their way from here to replicas that lack much; each file may have half a MiB in any case. A restart applies it.",
		func(j *JetStream) slot { return storeSize(&j.MaxOutstandingCatchup) }),
	row("catchup_rate", ReloadYes, "Bytes a second of files that go from here to replicas on other servers that lack much, none for no bound.",
		func(j *JetStream) slot { return sizeOrNone(&j.CatchupRateBytes) }),
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
		Enabled: true, MaxMemoryBytes: unlimited, MaxStoreBytes: unlimited, Sync: SyncAlways, Cipher: CipherChaCha,
		Strict: true, Limits: *newJetStreamLimits(), MaxOutstandingCatchup: 64 << 20, CatchupRateBytes: 64 << 20,
		MaxBufferedBytes: 128 << 20, MaxBufferedMessages: 100000, RequestQueueLimit: standardQueue,
		MaxConcurrentDiskAccess: standardDiskAccess,
	}
}

// What the incumbent has without a key: disk operations at a time, and requests
// that wait.
const (
	standardDiskAccess = 4096
	standardQueue      = 10000
)

var jetStreamLimitsKeys = []key[JetStreamLimits]{
	row("default_max_consumers", reloadInherit, "Consumers of a stream that does not say, -1 for no limit.",
		func(l *JetStreamLimits) slot { return count(&l.DefaultMaxConsumers, -1, maxCount) }),
	row("max_ack_pending", reloadInherit, "Unacknowledged messages of a consumer, 0 for no limit.",
		func(l *JetStreamLimits) slot { return count(&l.MaxAckPending, -1, maxCount) }),
	row("max_ha_assets", reloadInherit, "Replicated streams and consumers on this server, 0 for no limit. A server alone has none.",
		func(l *JetStreamLimits) slot { return count(&l.MaxHAAssets, -1, maxCount) }),
	row("max_request_batch", reloadInherit, "Messages of one pull request, 0 for no limit.",
		func(l *JetStreamLimits) slot { return count(&l.MaxRequestBatch, -1, maxCount) }),
	row("duplicate_window", reloadInherit, "Longest duplicate window, 0 for no limit.",
		func(l *JetStreamLimits) slot { return duration(&l.DuplicateWindow) }),
	row("batch", ReloadNo, "Limits of atomic batches.",
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
		func(t *TPM) slot { return cipherSlot{&t.Cipher} }),
}

func newTPM() *TPM { return &TPM{Cipher: CipherChaCha} }

var accountJetStreamKeys = []key[AccountJetStream]{
	row("max_memory max_mem mem memory", reloadInherit, "Bytes in memory streams, -1 for no limit.",
		func(j *AccountJetStream) slot { return storeSize(&j.MaxMemoryBytes) }),
	row("max_store max_file max_disk store disk", reloadInherit, "Bytes in file streams, -1 for no limit.",
		func(j *AccountJetStream) slot { return storeSize(&j.MaxStoreBytes) }),
	row("max_streams streams", reloadInherit, "Number of streams, -1 for no limit.",
		func(j *AccountJetStream) slot { return count(&j.MaxStreams, -1, maxCount) }),
	row("max_consumers consumers", reloadInherit, "Number of consumers of a stream, -1 for no limit.",
		func(j *AccountJetStream) slot { return count(&j.MaxConsumers, -1, maxCount) }),
	row("max_ack_pending", reloadInherit, "Unacknowledged messages of a consumer, -1 for no limit.",
		func(j *AccountJetStream) slot { return count(&j.MaxAckPending, -1, maxCount) }),
	row("memory_max_stream_bytes mem_max_stream_bytes", reloadInherit, "Size of one memory stream, -1 for no limit.",
		func(j *AccountJetStream) slot { return storeSize(&j.MemoryMaxStreamBytes) }),
	row("disk_max_stream_bytes store_max_stream_bytes", reloadInherit, "Size of one file stream, -1 for no limit.",
		func(j *AccountJetStream) slot { return storeSize(&j.StoreMaxStreamBytes) }),
	row("max_bytes_required max_stream_bytes max_bytes", reloadInherit, "Make each stream state its size.",
		func(j *AccountJetStream) slot { return flag(&j.MaxBytesRequired) }),
	row("cluster_traffic", reloadInherit, "Account whose routes carry replication.",
		func(j *AccountJetStream) slot { return choice(&j.ClusterTraffic, standardTraffic, "owner") }),
}

func newAccountJetStream() *AccountJetStream {
	return &AccountJetStream{
		MaxMemoryBytes: unlimited, MaxStoreBytes: unlimited, MaxStreams: unlimited, MaxConsumers: unlimited,
		MaxAckPending: unlimited, MemoryMaxStreamBytes: unlimited, StoreMaxStreamBytes: unlimited, ClusterTraffic: standardTraffic,
	}
}

// standardTraffic is the account whose routes carry replication by default.
const standardTraffic = "system"
