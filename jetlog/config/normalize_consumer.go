package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"runnel/subjects"
)

// The bounds and defaults of a consumer's values.
const (
	defaultAckWait       = 30 * time.Second
	defaultInactive      = 5 * time.Second
	defaultMaxAckPending = 1000
	defaultMaxWaiting    = 512
	defaultPinned        = 2 * time.Minute
	minHeartbeat         = 100 * time.Millisecond
	minMaxExpires        = time.Millisecond
	groupNameBytes       = 16
)

// Normalized returns the configuration with its defaults filled in for a consumer of the stream, or
// an *Error. What is given is not changed. The name must be set; whoever lets a server choose it has
// chosen it before.
func (c Consumer) Normalized(stream *Stream, limits Limits, pedantic bool) (Consumer, error) {
	c.Backoff = slices.Clone(c.Backoff)
	c.FilterSubjects = slices.Clone(c.FilterSubjects)
	c.PriorityGroups = slices.Clone(c.PriorityGroups)
	c.Metadata = maps.Clone(c.Metadata)
	steps := [...]func(*Consumer) error{
		(*Consumer).normalizeNames,
		func(c *Consumer) error { return c.checkOwn(stream) },
		func(c *Consumer) error { c.normalizeFlowAck(pedantic); return nil },
		func(c *Consumer) error { return c.normalizeAck(pedantic) },
		func(c *Consumer) error { return c.normalizeAckPending(stream, limits, pedantic) },
		(*Consumer).checkDeliver,
		(*Consumer).normalizeFilters,
		func(c *Consumer) error { return c.checkPush(stream) },
		(*Consumer).checkDirect,
		(*Consumer).normalizePull,
		(*Consumer).checkFlowAck,
		func(c *Consumer) error { return c.normalizeInactive(stream, limits) },
		func(c *Consumer) error { return c.checkStream(stream) },
		(*Consumer).normalizePriority,
	}
	for _, step := range steps {
		if err := step(&c); err != nil {
			return Consumer{}, err
		}
	}
	return c, nil
}

// normalizeNames makes sure that there is a name, and only one.
func (c *Consumer) normalizeNames() error {
	if c.Name != "" && c.Durable != "" && c.Name != c.Durable {
		return refuse(ConsumerNamesDiffer)
	}
	if c.Name == "" {
		c.Name = c.Durable
	}
	switch {
	case len(c.Name) > nameBytes:
		return refuseWith(ConsumerNameTooLong, strconv.Itoa(nameBytes))
	case hasPathSeparator(c.Name):
		return refuse(ConsumerNamePath)
	case !validName(c.Name):
		return refuse(ConsumerNameInvalid)
	case c.Name == RedriveConsumer:
		return refuseWith(ConsumerUpdateRefused, "the name "+RedriveConsumer+" is the server's own: take another one")
	case len(c.Description) > descriptionBytes:
		return refuseWith(ConsumerDescriptionLong, strconv.Itoa(descriptionBytes))
	case metadataSize(c.Metadata) > metadataBytes:
		return refuseWith(ConsumerMetadataLong, strconv.Itoa(metadataBytes))
	}
	return nil
}

// normalizeAck fills in how long and how often a consumer waits for answers.
func (c *Consumer) normalizeAck(pedantic bool) error {
	switch {
	case c.Ack > AckFlowControl:
		return refuse(AckPolicyInvalid)
	case c.Replay > ReplayOriginal:
		return refuse(ReplayPolicyInvalid)
	case c.AckWait < 0:
		return refuse(AckWaitNegative)
	case slices.ContainsFunc(c.Backoff, func(d time.Duration) bool { return d < 0 }):
		return refuse(BackoffNegative)
	}
	if c.MaxDeliver == 0 || c.MaxDeliver < -1 {
		c.MaxDeliver = -1
	}
	if len(c.Backoff) > 0 {
		if pedantic && c.AckWait > 0 && c.AckWait != c.Backoff[0] {
			return refuseWith(Pedantic, "pedantic mode: first backoff value has to equal batch AckWait")
		}
		c.AckWait = c.Backoff[0]
		if c.MaxDeliver > 0 && c.MaxDeliver < len(c.Backoff) {
			return refuse(MaxDeliverBackoff)
		}
	}
	if c.AckWait == 0 && (c.Ack == AckAll || c.Ack == AckExplicit) {
		c.AckWait = defaultAckWait
	}
	if c.Sampling != "" {
		if _, err := strconv.ParseUint(strings.TrimSuffix(c.Sampling, "%"), 10, 63); err != nil {
			return refuseWith(SamplingInvalid, err.Error())
		}
	}
	return nil
}

// normalizeAckPending fills in how many deliveries may wait for an answer.
func (c *Consumer) normalizeAckPending(stream *Stream, limits Limits, pedantic bool) error {
	if c.Ack == AckNone {
		if c.Push() && c.MaxAckPending > 0 {
			return refuse(AckPendingNeedsAck)
		}
		return nil
	}
	most := limits.MaxAckPending
	if l := stream.ConsumerLimits.MaxAckPending; l > 0 && (most <= 0 || l < most) {
		most = l
	}
	if c.MaxAckPending == 0 {
		c.MaxAckPending = defaultMaxAckPending
		if most > 0 && most < c.MaxAckPending {
			if pedantic && stream.ConsumerLimits.MaxAckPending == most {
				return refuseWith(Pedantic, "pedantic mode: max_ack_pending must be set if it's configured in stream limits")
			}
			c.MaxAckPending = most
		}
	}
	if most > 0 && (c.MaxAckPending > most || c.MaxAckPending < 0) {
		return refuseWith(AckPendingExceeds, strconv.Itoa(most))
	}
	return nil
}

// checkDeliver lets each deliver policy have its own start, and no other.
func (c *Consumer) checkDeliver() error {
	bad := func(detail string) error { return refuseWith(DeliverPolicyInvalid, detail) }
	const text = "consumer delivery policy is deliver "
	switch c.Deliver {
	case DeliverAll, DeliverLast, DeliverNew, DeliverLastPerSubject:
		name, _ := c.Deliver.MarshalText()
		label := strings.ReplaceAll(string(name), "_", " ")
		if c.StartSequence > 0 {
			return bad(text + label + ", but optional start sequence is also set")
		}
		if c.StartTime != nil {
			return bad(text + label + ", but optional start time is also set")
		}
		if c.Deliver == DeliverLastPerSubject && len(c.Filters()) == 0 {
			return bad(text + label + ", but FilterSubject is not set")
		}
	case DeliverByStartSequence:
		if c.StartSequence == 0 {
			return bad(text + "by start sequence, but optional start sequence is not set")
		}
		if c.StartTime != nil {
			return bad(text + "by start sequence, but optional start time is also set")
		}
	case DeliverByStartTime:
		if c.StartTime == nil {
			return bad(text + "by start time, but optional start time is not set")
		}
		if c.StartSequence > 0 {
			return bad(text + "by start time, but optional start sequence is also set")
		}
	default:
		return bad("consumer delivery policy is unknown")
	}
	return nil
}

// normalizeFilters lets no filter be part of another. Two that only overlap are fine: a message that
// matches both counts once.
func (c *Consumer) normalizeFilters() error {
	if c.FilterSubject != "" && len(c.FilterSubjects) > 0 {
		return refuse(FiltersExclusive)
	}
	for i, filter := range c.Filters() {
		switch {
		case filter == "":
			return refuse(FilterEmpty)
		case !subjects.ValidPattern(filter):
			return invalid("invalid subject")
		}
		for _, other := range c.Filters()[:i] {
			if subjects.Subset(filter, other) || subjects.Subset(other, filter) {
				return refuse(FiltersOverlap)
			}
		}
	}
	return nil
}

// checkPush looks at what only makes sense for a consumer that sends by itself.
func (c *Consumer) checkPush(stream *Stream) error {
	if !c.Push() {
		switch {
		case c.RateLimit > 0:
			return refuse(PullRateLimit)
		case c.Heartbeat > 0:
			return refuse(HeartbeatNeedsPush)
		case c.FlowControl:
			return refuse(FlowControlNeedsPush)
		}
		return nil
	}
	switch {
	case !subjects.ValidPattern(c.DeliverSubject):
		return refuse(DeliverSubjectInvalid)
	case !subjects.IsLiteral(c.DeliverSubject):
		return refuse(DeliverWildcard)
	case c.MaxWaiting != 0:
		return refuse(PushMaxWaiting)
	case c.Heartbeat > 0 && c.Heartbeat < minHeartbeat:
		return refuse(HeartbeatTooShort)
	case c.FlowControl && c.Heartbeat == 0:
		return refuse(FlowControlNeedsHeartbeat)
	}
	for _, subject := range stream.Subjects {
		if subjects.Match(subject, c.DeliverSubject) && subject != ">" {
			return refuse(DeliverCycle)
		}
	}
	return nil
}

// checkDirect lets consumers of mirrors and sources, which lists do not show, be only what those need.
func (c *Consumer) checkDirect() error {
	switch {
	case c.Direct && !c.Push():
		return refuse(DirectNeedsPush)
	case c.Direct && c.Durable != "":
		return refuse(DirectNeedsEphemeral)
	}
	return nil
}

// normalizePull looks at what only makes sense for a consumer that is asked.
func (c *Consumer) normalizePull() error {
	if c.Push() {
		return nil
	}
	switch {
	case c.MaxWaiting < 0:
		return refuse(MaxWaitingNegative)
	case c.MaxBatch < 0:
		return refuse(MaxBatchNegative)
	case c.MaxExpires != 0 && c.MaxExpires < minMaxExpires:
		return refuse(MaxExpiresTooShort)
	case c.MaxWaiting == 0:
		c.MaxWaiting = defaultMaxWaiting
	}
	return nil
}

// normalizeFlowAck turns on what acknowledgement by flow control cannot be without. A pedantic caller has to say it.
func (c *Consumer) normalizeFlowAck(pedantic bool) {
	if c.Ack != AckFlowControl || !c.Push() || pedantic {
		return
	}
	c.FlowControl = true
	if c.Heartbeat == 0 {
		c.Heartbeat = flowAckHeartbeat
	}
}

// flowAckHeartbeat is the only one that acknowledgement by flow control works with.
const flowAckHeartbeat = time.Second

// checkFlowAck looks at what acknowledgement by flow control asks for.
func (c *Consumer) checkFlowAck() error {
	if c.Ack != AckFlowControl {
		return nil
	}
	switch {
	case !c.Push():
		return refuse(FlowAckNeedsPush)
	case !c.FlowControl:
		return refuse(FlowAckNeedsFlowControl)
	case c.Heartbeat != flowAckHeartbeat:
		return refuse(FlowControlNeedsHeartbeat)
	case c.MaxAckPending <= 0:
		return refuse(FlowAckNeedsAckPending)
	case c.AckWait > 0 || len(c.Backoff) > 0:
		return refuse(FlowAckWait)
	case c.MaxDeliver > 0:
		return refuse(FlowAckMaxDeliver)
	}
	return nil
}

// normalizeInactive fills in after which idle time a consumer goes.
func (c *Consumer) normalizeInactive(stream *Stream, limits Limits) error {
	most := limits.InactiveThreshold
	if l := stream.ConsumerLimits.InactiveThreshold; l > 0 && (most <= 0 || l < most) {
		most = l
	}
	if c.Inactive <= 0 {
		c.Inactive = 0
		switch {
		case stream.ConsumerLimits.InactiveThreshold > 0:
			c.Inactive = stream.ConsumerLimits.InactiveThreshold
		case c.Durable == "":
			c.Inactive = defaultInactive
		}
	}
	if most > 0 && c.Inactive > most {
		return refuseWith(InactiveThresholdExceeds, most.String())
	}
	return nil
}

// checkStream looks at what the stream asks of its consumers.
func (c *Consumer) checkStream(stream *Stream) error {
	switch {
	case c.Replicas < 0:
		return refuse(NegativeReplicas)
	case c.Replicas > stream.Replicas:
		return refuse(ConsumerReplicas)
	case c.Replicas > 0 && c.Replicas != stream.Replicas && stream.Retention != LimitsRetention:
		return refuse(ConsumerReplicasInterest)
	}
	if stream.Retention != WorkQueueRetention {
		return nil
	}
	switch {
	case c.Ack == AckNone && !c.Push():
		return refuse(WorkQueuePullAck)
	case c.Ack != AckExplicit && c.Ack != AckFlowControl:
		return refuse(WorkQueueAck)
	case c.Deliver != DeliverAll:
		return refuse(WorkQueueDeliverAll)
	}
	return nil
}

// normalizePriority looks at priority groups, which only pull consumers have.
func (c *Consumer) normalizePriority() error {
	switch {
	case c.PriorityPolicy == PriorityNone && len(c.PriorityGroups) > 0:
		return refuse(GroupsWithoutPolicy)
	case c.PriorityPolicy == PriorityNone && c.PriorityTimeout > 0:
		return refuse(PinnedWithoutPolicy)
	case c.PriorityPolicy == PriorityNone:
		return nil
	case c.Push():
		return refuse(PriorityNeedsPull)
	case len(c.PriorityGroups) == 0:
		return refuse(PriorityNeedsGroup)
	}
	for _, group := range c.PriorityGroups {
		switch {
		case group == "":
			return refuse(PriorityGroupEmpty)
		case len(group) > groupNameBytes || strings.ContainsFunc(group, notGroupRune):
			return refuse(PriorityGroupInvalid)
		}
	}
	if c.PriorityPolicy == PriorityPinned && c.PriorityTimeout == 0 {
		c.PriorityTimeout = defaultPinned
	}
	return nil
}

// notGroupRune reports whether r may not be in the name of a priority group.
func notGroupRune(r rune) bool {
	switch {
	case 'A' <= r && r <= 'Z', 'a' <= r && r <= 'z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("/_=-", r)
}
