package conf

import "time"

// DefaultStoreDir is where streams are kept when nothing says otherwise: a
// folder in the working directory, since what is in a folder for temporary
// files may be gone after the next start of the machine.
const DefaultStoreDir = "runnel-data"

// DefaultSyncInterval is the pause of [SyncInterval] without a number.
const DefaultSyncInterval = 100 * time.Millisecond

// JetStream is the store of streams, and what its users may ask for. Limits of
// 0 or below are none unless said otherwise.
type JetStream struct {
	// Enabled is false where the block is there but switched off.
	Enabled bool
	// StoreDir is the folder of the streams, never empty after parsing. A
	// relative path begins at the working directory.
	StoreDir string
	// MaxMemoryBytes and MaxStoreBytes bound all streams in memory and all in
	// files together. 0 allows none, -1 takes three quarters of the memory of
	// the machine, and of what is free on the disk of StoreDir.
	MaxMemoryBytes int64
	MaxStoreBytes  int64
	// Sync says when a publish is acknowledged, for streams whose metadata
	// does not say. SyncInterval is the pause between syncs, 0 unless Sync is
	// [SyncInterval].
	Sync         SyncPolicy
	SyncInterval time.Duration
	// Domain sets these streams apart from those of other servers; requests
	// may then also begin with $JS.<domain>.API. Empty for none.
	Domain string
	// Key encrypts what is stored with Cipher, in whatever length it comes;
	// empty stores in the clear. PrevKey is the key before, while it is
	// changed: what it encrypted can be read, nothing new is written with it.
	Key     string
	PrevKey string
	Cipher  Cipher
	// TPM keeps the key in a trusted platform module; nil when absent.
	TPM *TPM
	// Strict refuses requests with fields that nobody knows; otherwise they
	// are passed over.
	Strict bool
	// Limits bound what one request may ask for.
	Limits JetStreamLimits
	// MaxBufferedBytes and MaxBufferedMessages bound what waits to enter one
	// stream. What comes on top is refused, and may be tried again.
	MaxBufferedBytes    int64
	MaxBufferedMessages int
	// RequestQueueLimit bounds requests to the API that wait, InfoQueueLimit
	// those among them that only ask for information.
	RequestQueueLimit int
	InfoQueueLimit    int

	// The rest concerns several servers, or how a server works inside.

	// ExtensionHint says whether leaf nodes extend this cluster.
	ExtensionHint string
	// UniqueTag puts replicas on servers with different tags of that prefix.
	UniqueTag string
	// MaxOutstandingCatchup bounds what is on its way to replicas.
	MaxOutstandingCatchup int64
	// CatchupRateBytes bounds what other servers fetch of files from here in a
	// second, all together; 0 is no bound.
	CatchupRateBytes int64
	// MetaCompactEntries, MetaCompactBytes and MetaCompactSync say when the
	// cluster's own log is compacted.
	MetaCompactEntries int
	MetaCompactBytes   int64
	MetaCompactSync    bool
	// MaxConcurrentDiskAccess bounds disk operations at a time.
	MaxConcurrentDiskAccess int
}

// SyncPolicy says what an acknowledgement waits for.
type SyncPolicy string

// The policies of [SyncPolicy].
const (
	// SyncAlways acknowledges what is on the disk. It is the default.
	SyncAlways SyncPolicy = "always"
	// SyncInterval acknowledges what was given to the operating system, and
	// syncs after an interval. A power cut loses at most that much.
	SyncInterval SyncPolicy = "interval"
	// SyncOS leaves it to the operating system when anything is synced.
	SyncOS SyncPolicy = "os"
)

// Cipher encrypts what is stored.
type Cipher string

// The ciphers of [Cipher]; without a word it is CipherChaCha.
const (
	CipherChaCha Cipher = "chacha" // ChaCha20-Poly1305
	CipherAES    Cipher = "aes"    // AES-GCM
)

// JetStreamLimits bound what one request may ask for; 0 and below is no limit
// unless said otherwise.
type JetStreamLimits struct {
	// DefaultMaxConsumers is how many consumers a stream may have that does
	// not say.
	DefaultMaxConsumers int
	// MaxAckPending is the largest max_ack_pending of a consumer.
	MaxAckPending int
	// MaxHAAssets is how many replicated streams and consumers this server
	// may hold. A server alone has none.
	MaxHAAssets int
	// MaxRequestBatch is the largest batch of a pull request.
	MaxRequestBatch int
	// DuplicateWindow is the longest duplicate window of a stream.
	DuplicateWindow time.Duration
	Batch           BatchLimits
}

// BatchLimits bound atomic batch publishing; 0 is the built-in limit.
type BatchLimits struct {
	// MaxInflightPerStream and MaxInflightTotal bound open batches.
	MaxInflightPerStream int
	MaxInflightTotal     int
	// MaxMessages is how many messages a batch may have.
	MaxMessages int
	// Timeout is how long a batch may be silent before it is given up.
	Timeout time.Duration
}

// TPM keeps the encryption key in a trusted platform module.
type TPM struct {
	KeysFile           string
	EncryptionPassword string
	SRKPassword        string
	PCR                int
	Cipher             Cipher
}

// AccountJetStream bounds what an account may store; -1 is no limit.
type AccountJetStream struct {
	// MaxMemoryBytes and MaxStoreBytes bound all streams of the account. What
	// is stated here is reserved for it: all accounts together may not state
	// more than the server has.
	MaxMemoryBytes int64
	MaxStoreBytes  int64
	// MaxStreams bounds the streams, MaxConsumers the consumers of each.
	MaxStreams   int
	MaxConsumers int
	// MaxAckPending is the largest max_ack_pending of a consumer.
	MaxAckPending int
	// MemoryMaxStreamBytes and StoreMaxStreamBytes bound one stream.
	MemoryMaxStreamBytes int64
	StoreMaxStreamBytes  int64
	// MaxBytesRequired refuses streams that do not state max_bytes.
	MaxBytesRequired bool
	// ClusterTraffic is `system` or `owner`, the account whose routes carry
	// replication.
	ClusterTraffic string
}

// JetStreamOf returns within which limits an account may use JetStream, nil
// where it may not. Every account needs a `jetstream` of its own, but for the
// global account: it may as long as there is no other account apart from that
// of the $SYS services. The caller does not change the result.
func (o *Options) JetStreamOf(account string) *AccountJetStream {
	if o.JetStream == nil || !o.JetStream.Enabled {
		return nil
	}
	alone := true
	for i := range o.Accounts {
		a := &o.Accounts[i]
		if a.Name == account {
			return a.JetStream
		}
		alone = alone && a.Name == o.systemAccount()
	}
	if account == globalAccount && alone {
		return newAccountJetStream()
	}
	return nil
}

// systemAccount returns the name of the account of the $SYS services.
func (o *Options) systemAccount() string {
	if o.SystemAccount != "" {
		return o.SystemAccount
	}
	return systemAccount
}
