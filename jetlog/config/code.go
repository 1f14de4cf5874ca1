package config

import "strconv"

// Code is the number of a refusal, as clients know it from `err_code`. Zero means that nothing was
// refused. The texts that belong to the numbers are the API's, not ours.
type Code uint16

// The codes that validation and Apply can give.
const (
	BadRequest                Code = 10003
	ConsumerUpdateRefused     Code = 10012
	ConsumerNotFound          Code = 10014
	MaximumConsumers          Code = 10026
	MirrorWithSources         Code = 10031
	MirrorStartConflict       Code = 10032
	MirrorWithSubjects        Code = 10034
	MessageNotFound           Code = 10037
	SequenceNotFound          Code = 10043
	StreamInvalidConfig       Code = 10052
	MessageTooLarge           Code = 10054
	MessageDeleteRefused      Code = 10057
	MirrorUpdateRefused       Code = 10055
	WrongStream               Code = 10060
	WrongLastMessageID        Code = 10070
	WrongLastSequence         Code = 10071
	StoreFailed               Code = 10077
	DeliverWildcard           Code = 10079
	PushMaxWaiting            Code = 10080
	DeliverCycle              Code = 10081
	AckPendingNeedsAck        Code = 10082
	HeartbeatTooShort         Code = 10083
	WorkQueuePullAck          Code = 10084
	PullRateLimit             Code = 10086
	MaxWaitingNegative        Code = 10087
	HeartbeatNeedsPush        Code = 10088
	FlowControlNeedsPush      Code = 10089
	DirectNeedsPush           Code = 10090
	DirectNeedsEphemeral      Code = 10091
	DeliverPolicyInvalid      Code = 10094
	SamplingInvalid           Code = 10095
	HeaderTooLarge            Code = 10097
	WorkQueueAck              Code = 10098
	WorkQueueUnfiltered       Code = 10099
	WorkQueueNotUnique        Code = 10100
	WorkQueueDeliverAll       Code = 10101
	ConsumerNameTooLong       Code = 10102
	ConsumerNameInvalid       Code = 10103
	ConsumerDescriptionLong   Code = 10107
	FlowControlNeedsHeartbeat Code = 10108
	Sealed                    Code = 10109
	PurgeRefused              Code = 10110
	RollupFailed              Code = 10111
	DeliverSubjectInvalid     Code = 10112
	MaxBatchNegative          Code = 10114
	MaxExpiresTooShort        Code = 10115
	MaxDeliverBackoff         Code = 10116
	AckPendingExceeds         Code = 10121
	ConsumerReplicas          Code = 10126
	ConsumerNamePath          Code = 10127
	StreamNamePath            Code = 10128
	ConsumerNamesDiffer       Code = 10132
	NegativeReplicas          Code = 10133
	ConsumerReplicasInterest  Code = 10134
	ConsumerMetadataLong      Code = 10135
	FiltersExclusive          Code = 10136
	FiltersOverlap            Code = 10138
	FilterEmpty               Code = 10139
	DuplicateSource           Code = 10140
	SourceNameInvalid         Code = 10141
	MirrorNameInvalid         Code = 10142
	MirrorFirstSequence       Code = 10143
	SourceFilterTransforms    Code = 10144
	SourceTransformSource     Code = 10145
	SourceTransform           Code = 10146
	SourceFiltersOverlap      Code = 10147
	ConsumerExists            Code = 10148
	ConsumerMissing           Code = 10149
	MirrorFilterTransforms    Code = 10150
	MirrorTransformSource     Code = 10151
	MirrorFiltersOverlap      Code = 10152
	InactiveThresholdExceeds  Code = 10153
	MirrorTransform           Code = 10154
	TransformSource           Code = 10155
	TransformInvalid          Code = 10156
	Pedantic                  Code = 10157
	PriorityNeedsGroup        Code = 10159
	PriorityGroupUnknown      Code = 10160
	PriorityGroupEmpty        Code = 10161
	PriorityGroupInvalid      Code = 10162
	WrongLastInBatch          Code = 10164
	TTLInvalid                Code = 10165
	TTLDisabled               Code = 10166
	CountersDisabled          Code = 10168
	CounterMissing            Code = 10169
	CounterPayload            Code = 10170
	CounterInvalid            Code = 10171
	CounterBroken             Code = 10172
	MirrorCounters            Code = 10173
	AtomicDisabled            Code = 10174
	AtomicIncomplete          Code = 10176
	AtomicHeaderUnsupported   Code = 10177
	PriorityNeedsPull         Code = 10178
	AckPolicyInvalid          Code = 10181
	ReplayPolicyInvalid       Code = 10182
	AckWaitNegative           Code = 10183
	BackoffNegative           Code = 10184
	MirrorSchedules           Code = 10186
	SourceSchedules           Code = 10187
	SchedulesDisabled         Code = 10188
	ScheduleInvalid           Code = 10189
	ScheduleTargetInvalid     Code = 10190
	ScheduleTTLInvalid        Code = 10191
	ScheduleRollupInvalid     Code = 10192
	ExpectedSubjectSequence   Code = 10193
	GroupsWithoutPolicy       Code = 10196
	PinnedWithoutPolicy       Code = 10197
	MirrorAtomic              Code = 10198
	AtomicDuplicate           Code = 10201
	ScheduleSourceInvalid     Code = 10203
	ResetInvalid              Code = 10204
	MirrorBatched             Code = 10209
	SchedulerInvalid          Code = 10212
	FlowAckNeedsPush          Code = 10218
	FlowAckNeedsFlowControl   Code = 10219
	FlowAckNeedsAckPending    Code = 10220
	FlowAckWait               Code = 10221
	FlowAckMaxDeliver         Code = 10222
	ScheduleZoneInvalid       Code = 10223
	SourceHeaderRefused       Code = 10227
	ProducerInvalid           Code = 11001
	ProducerGap               Code = 11002
	ProducersFull             Code = 11003
	CauseSettled              Code = 11051
	CauseUnknown              Code = 11052
	CausesFull                Code = 11053
	CauseLate                 Code = 11054
)

// Error is a refusal: its number, and what the text of that number has to be filled with.
type Error struct {
	Code   Code
	Detail string
}

// Error returns the number and the detail. It is for logs; clients get the text of the API's table.
func (e *Error) Error() string {
	if e.Detail == "" {
		return "refused with code " + strconv.Itoa(int(e.Code))
	}
	return "refused with code " + strconv.Itoa(int(e.Code)) + ": " + e.Detail
}

// refuse returns a refusal whose text has nothing to fill in.
func refuse(code Code) error { return &Error{Code: code} }

// refuseWith returns a refusal with what its text is filled with.
func refuseWith(code Code, detail string) error { return &Error{Code: code, Detail: detail} }

// invalid returns the refusal of a stream's configuration for a reason that has no number.
func invalid(detail string) error { return &Error{Code: StreamInvalidConfig, Detail: detail} }
