package workload

import (
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"runnel/chaos/history"
)

// Codes of the API's errors that are refusals: whoever answers so has looked at the request, has not carried it out, and never will. All
// others may stand for something that did happen, or that still may: no quorum, a disk that failed, leaders that come
// and go, queues that are full.
const (
	codeAccountLimit        = 10002 // of the account's storage
	codeBadRequest          = 10003
	codeConsumerNameInUse   = 10013
	codeConsumerNotFound    = 10014
	codeInvalidJSON         = 10025
	codeConsumersMax        = 10026
	codeStreamsMax          = 10027
	codeNoMessage           = 10037
	codeSequenceNotFound    = 10043
	codeStreamConfig        = 10052 // what of a stream is not valid
	codeMessageTooLarge     = 10054
	codeStreamNameInUse     = 10058
	codeStreamNotFound      = 10059
	codeOtherStream         = 10060
	codeSubjectsOverlap     = 10065
	codeLastIDWrong         = 10070
	codeLastSequenceWrong   = 10071
	codeNotClustered        = 10074
	codeHeaderTooLarge      = 10097
	codeConsumerActive      = 10105
	codeConsumerExists      = 10148
	codeConsumerMissing     = 10149
	codeLastSequenceChanged = 10164 // 10071 while another message is on its way
	codeBatchDisabled       = 10174
	codeBatchSequence       = 10175
	codeBatchIncomplete     = 10176
	codeBatchHeader         = 10177
	codeBatchID             = 10179
	codeBatchTooLarge       = 10199
	codeBatchCommit         = 10200
	codeBatchDuplicate      = 10201
	codeBatchesMax          = 10210
	codeLetterUnknown       = 11011 // no dead letter is meant
	codeRedriveRuns         = 11012
	codeDelayUnknown        = 11062 // nothing of that is delayed
)

// refusal tells whether an error of the API guarantees that the request was not carried out.
func refusal(code jetstream.ErrorCode) bool {
	switch code {
	case codeAccountLimit, codeBadRequest, codeConsumerNameInUse, codeConsumerNotFound, codeInvalidJSON,
		codeConsumersMax, codeStreamsMax, codeNoMessage, codeSequenceNotFound, codeStreamConfig, codeMessageTooLarge,
		codeStreamNameInUse, codeStreamNotFound, codeOtherStream, codeSubjectsOverlap, codeLastIDWrong, codeLastSequenceWrong,
		codeNotClustered, codeHeaderTooLarge, codeConsumerActive, codeConsumerExists, codeConsumerMissing, codeLastSequenceChanged,
		codeBatchDisabled, codeBatchSequence, codeBatchIncomplete, codeBatchHeader, codeBatchID, codeBatchTooLarge, codeBatchCommit,
		codeBatchDuplicate, codeBatchesMax, codeLetterUnknown, codeRedriveRuns, codeDelayUnknown:
		return true
	}
	return false
}

// resultOf is what is known of a request that ended with an error, or nil. Time-outs, lost connections, no responders, answers
// that are none and errors of the client library are all Unknown: what was sent may have arrived.
func resultOf(err error) history.Result {
	if err == nil {
		return history.OK
	}
	if refusal(codeOf(err)) {
		return history.Failed
	}
	return history.Unknown
}

// codeOf is the code of an error of the API; 0 for any other error.
func codeOf(err error) jetstream.ErrorCode {
	var e jetstream.JetStreamError
	if errors.As(err, &e) && e.APIError() != nil {
		return e.APIError().ErrorCode
	}
	return 0
}

// textOf is an error as it stands in the history: short, and nothing for no error.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	const textBytesMax = 200
	text := err.Error()
	return text[:min(len(text), textBytesMax)]
}

// errUnconfirmed stands at what was sent without waiting for an answer.
var errUnconfirmed = errors.New("nobody waited for a confirmation")
