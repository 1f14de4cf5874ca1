package api

import "runnel/jetlog/config"

// The numbers of refusals that do not come from a stream's configuration or state; those are in package config.
const (
	AccountExceeded         config.Code = 10002
	NoSuitablePeers         config.Code = 10005
	ClusterUnavailable      config.Code = 10008
	ClusterRequired         config.Code = 10010
	ConsumerNameExists      config.Code = 10013
	EphemeralWithDurable    config.Code = 10019
	DurableNameMismatch     config.Code = 10017
	DurableNameMissing      config.Code = 10018
	ExternalAPIOverlap      config.Code = 10021
	ExternalDeliverOverlap  config.Code = 10022
	DeliverSubjectInvalid   config.Code = 10015
	InsufficientResources   config.Code = 10023
	ExternalDeliverWildcard config.Code = 10024
	InvalidJSON             config.Code = 10025
	MaximumStreams          config.Code = 10027
	InsufficientMemory      config.Code = 10028
	MirrorMessageBytes      config.Code = 10030
	AccountNotFound         config.Code = 10035
	NotEmptyRequest         config.Code = 10038
	NotEnabledForAccount    config.Code = 10039
	PeerNotMember           config.Code = 10040
	RestoreSubscribe        config.Code = 10042
	ServerNotMember         config.Code = 10044
	SourceMessageBytes      config.Code = 10046
	InsufficientStorage     config.Code = 10047
	StreamNameMismatch      config.Code = 10056
	StreamNameExists        config.Code = 10058
	StreamNotFound          config.Code = 10059
	RestoreFailed           config.Code = 10062
	StreamSequenceMismatch  config.Code = 10063
	BackupFailed            config.Code = 10064
	SubjectOverlap          config.Code = 10065
	ReplicasNotSupported    config.Code = 10074
	PeerRemapFailed         config.Code = 10075
	NotEnabled              config.Code = 10076
	ConsumerConfigRequired  config.Code = 10078
	ConsumerStillActive     config.Code = 10105
	MaxBytesRequired        config.Code = 10113
	SubjectDetailsTooLarge  config.Code = 10117
	StreamUnreachable       config.Code = 10118
	StreamOffline           config.Code = 10194
	ConsumerOffline         config.Code = 10195
	NoTier                  config.Code = 10120
	MaxBytesExceeds         config.Code = 10122
	MaxBatchExceeds         config.Code = 10125
	NoReconfiguration       config.Code = 10129
	RestoreNameExists       config.Code = 10130
	FilterMismatch          config.Code = 10131
	FiltersInSubject        config.Code = 10137
	TooManyRequests         config.Code = 10167
	AtomicSequenceMissing   config.Code = 10175
	AtomicIDInvalid         config.Code = 10179
	LevelRequired           config.Code = 10185
	RescueRefused           config.Code = 10224
	AtomicTooLarge          config.Code = 10199
	AtomicCommitInvalid     config.Code = 10200
	BatchDisabled           config.Code = 10205
	BatchPatternInvalid     config.Code = 10206
	BatchIDInvalid          config.Code = 10207
	BatchUnknown            config.Code = 10208
	AtomicTooMany           config.Code = 10210
	BatchTooMany            config.Code = 10211
	MirrorConsumerInvalid   config.Code = 10213
	MirrorConsumerFlow      config.Code = 10214
	SourceConsumerInvalid   config.Code = 10215
	SourceConsumerDuplicate config.Code = 10216
	SourceConsumerFlow      config.Code = 10217
	IdentityMismatch        config.Code = 10225
	PutTooMany              config.Code = 11050
	AckInvalid              config.Code = 11055
	AckUnreachable          config.Code = 11056
)
