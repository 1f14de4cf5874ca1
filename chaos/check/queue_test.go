package check_test

import (
	"testing"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

func TestQueue(t *testing.T) {
	checkTales(t, func(ops []history.Operation) []check.Finding {
		return check.Queue(ops, check.QueueConfig{Stream: "S", Grace: 10 * time.Second})
	}, []tale{
		{"done", `
			1 publish v=a s=1
			8 fetch v=a s=1
			8 ack v=a s=1
			8 fetch
			final *:`, ""},
		{"stored still", `
			1 publish v=a s=1
			8 fetch v=a s=1
			8 nak v=a s=1
			final *: a`, ""},
		{"an ack that happened, though nobody knows", `
			1 publish v=a s=1
			8 fetch v=a s=1
			8 ack v=a s=1 unknown
			final *:`, ""},
		{"an ack that did not happen, and one that did", `
			1 publish v=a s=1
			8 fetch v=a s=1
			8 ack v=a s=1 unknown
			8 fetch v=a s=1 t=100-101
			8 ack v=a s=1 t=102-103
			final *:`, ""},
		{"an ack of unknown result, seen at some nodes only", `
			1 publish v=a s=1
			8 ack v=a s=1 unknown
			final n1: a
			final n2:`, ""},
		{"on its way while it was acknowledged", `
			1 publish v=a s=1
			8 fetch v=a s=1 t=2-3
			8 ack v=a s=1 t=4-5
			9 fetch v=a s=1 t=2-6
			final *:`, ""},
		{"unknown publish that nobody got", `
			1 publish v=a unknown
			final *:`, ""},
		{"unknown publish that was done", `
			1 publish v=a unknown
			8 fetch v=a s=1
			8 ack v=a s=1
			final *:`, ""},
		{"stored twice by a retry, both done", `
			1 publish v=a unknown
			1 publish v=a s=2
			8 fetch v=a s=1
			8 ack v=a s=1
			8 fetch v=a s=2 t=100-101
			8 ack v=a s=2 t=102-103
			final *:`, ""},
		{"lost", `
			1 publish v=a s=1
			final *:`, "lost@n1 lost@n2 lost@n3"},
		{"lost after it was given back", `
			1 publish v=a s=1
			8 fetch v=a s=1
			8 nak v=a s=1
			final n1:`, "lost@n1"},
		{"its ack was refused, and it is gone", `
			1 publish v=a s=1
			8 fetch v=a s=1
			8 ack v=a s=1 failed
			final n1:`, "lost@n1"},
		{"lost at one node", `
			1 publish v=a s=1
			final n1: a
			final n2:`, "differs@n2 lost@n2"},
		{"done and stored still", `
			1 publish v=a s=1
			8 ack v=a s=1
			final n1: a
			final n2:`, "kept@n1"},
		{"again after its ack was confirmed", `
			1 publish v=a s=1
			8 fetch v=a s=1 t=2-3
			8 ack v=a s=1 t=4-5
			9 fetch v=a s=1 t=16-17 n=n2
			final *:`, "redelivered@n2"},
		{"under two sequences", `
			1 publish v=a s=1
			8 fetch v=a s=1
			8 ack v=a s=1
			8 fetch v=a s=2
			8 ack v=a s=2
			final *:`, "duplicate@n1"},
		{"never sent", `
			8 fetch v=x s=1
			final n1: x`, "unexpected@n1"},
		{"refused", `
			1 publish v=a failed
			8 fetch v=a s=1
			final *:`, "refused@n1"},
		{"two messages with one sequence", `
			1 publish v=a s=1
			1 publish v=b unknown
			8 fetch v=b s=1
			final n1: a`, "conflict@n1"},
	})
}

func TestDeadLetters(t *testing.T) {
	checkTales(t, func(ops []history.Operation) []check.Finding {
		return check.DeadLetters(ops, check.QueueConfig{
			Stream: "S", DeadLetters: "D", Grace: 10 * time.Second,
			Poison: func(value string) bool { return value[0] == 'p' },
		})
	}, []tale{
		{"given up", `
			1 publish v=p s=1
			8 fetch v=p s=1
			8 nak v=p s=1
			final *:
			final */D: p`, ""},
		{"redriven and done", `
			1 publish v=p s=1
			8 fetch v=p s=1
			8 nak v=p s=1
			7 redrive v=p s=1 st=D
			8 fetch v=p s=2
			8 ack v=p s=2
			final *:
			final */D:`, ""},
		{"redriven and on its way", `
			1 publish v=p s=1
			7 redrive v=p s=1 st=D
			final *: _ p
			final */D:`, ""},
		{"redriven and given up again", `
			1 publish v=p s=1
			7 redrive v=p s=1 st=D
			final *:
			final */D: _ p`, ""},
		{"a redrive of unknown result, half done", `
			1 publish v=p s=1
			7 redrive v=p s=1 st=D unknown
			final *: _ p
			final */D: p`, ""},
		{"moved by a client", `
			1 publish v=p s=1
			7 publish v=p s=1 st=D
			7 erase s=1
			final *:
			final */D: p`, ""},
		{"moved by a client that did not come to its end", `
			1 publish v=a s=1
			7 publish v=a s=1 st=D
			7 erase s=1 unknown
			final *: a
			final */D: a`, ""},
		{"redriven by a client that did not come to its end, and moved again", `
			1 publish v=p s=1
			7 publish v=p s=1 st=D
			7 erase s=1
			6 redrive v=p s=1 st=D
			7 publish v=p s=2 st=D
			7 erase s=2
			final *:
			final */D: p p`, ""},
		{"a good one that no worker lived to confirm", `
			1 publish v=a s=1
			8 fetch v=a s=1
			final *:
			final */D: a`, ""},
		{"lost at the hand-over", `
			1 publish v=p s=1
			8 fetch v=p s=1
			8 nak v=p s=1
			final *:
			final */D:`, "lost@n1 lost@n2 lost@n3"},
		{"lost at the hand-over of one node", `
			1 publish v=p s=1
			final *:
			final n1/D: p
			final n2/D:
			final n3/D: p`, "differs@n2 lost@n2"},
		{"lost when it was redriven", `
			1 publish v=p s=1
			7 redrive v=p s=1 st=D
			final n1:
			final n1/D:`, "lost@n1"},
		{"twice", `
			1 publish v=p s=1
			final n1:
			final n1/D: p p`, "duplicate@n1"},
		{"at both places", `
			1 publish v=p s=1
			final n1: p
			final n1/D: p`, "duplicate@n1 stalled@n1"},
		{"at both places after a redrive", `
			1 publish v=p s=1
			7 redrive v=p s=1 st=D
			final n1: _ p
			final n1/D: p`, "duplicate@n1"},
		{"moved by a client, and there again", `
			1 publish v=a s=1
			7 publish v=a s=1 st=D
			7 erase s=1
			final n1: a
			final n1/D: a`, "kept@n1"},
		{"moved by a client, and lost then", `
			1 publish v=p s=1
			7 publish v=p s=1 st=D
			7 erase s=1
			final n1:
			final n1/D:`, "lost@n1"},
		{"never given up", `
			1 publish v=p s=1
			final n1: p
			final n1/D:`, "stalled@n1"},
		{"never sent", `
			final n1:
			final n1/D: x`, "unexpected@n1"},
		{"dead letters that nobody read", `
			1 publish v=p s=1
			8 ack v=p s=1
			final n1:`, "unchecked@"},
	})
}

func TestDedup(t *testing.T) {
	checkTales(t, func(ops []history.Operation) []check.Finding {
		return check.Dedup(ops, check.DedupConfig{Stream: "S", Window: time.Minute})
	}, []tale{
		{"once, whichever try it was", `
			1 publish v=a unknown
			1 publish v=a s=1
			1 publish v=a s=1
			1 publish v=b unknown
			1 publish v=b unknown
			1 publish v=c unknown
			final *: a b`, ""},
		{"tries that are further apart than the window", `
			1 publish v=a s=1 t=0-1
			1 publish v=a s=2 t=100-101
			final *: a a`, ""},
		{"refused tries", `
			1 publish v=a failed
			1 publish v=a s=1
			final *: a`, ""},
		{"twice", `
			1 publish v=a unknown
			1 publish v=a s=2
			final n1: a a`, "duplicate@n1 moved@n1"},
		{"twice after acks for one", `
			1 publish v=a s=1
			1 publish v=a s=1
			final n1: a a`, "duplicate@n1"},
		{"twice, never acknowledged", `
			1 publish v=a unknown
			1 publish v=a unknown
			final n1: a a`, "duplicate@n1"},
		{"an ack that names another sequence", `
			1 publish v=a s=1
			1 publish v=a s=5
			final n1: a`, "moved@n1"},
		{"acks that agree and are wrong", `
			1 publish v=a s=2
			1 publish v=a s=2
			final n1: a`, "moved@n1"},
		{"lost", `
			1 publish v=a unknown
			1 publish v=a s=1
			final n1:`, "lost@n1"},
		{"a duplicate of what was not stored", `
			1 publish v=b s=1
			1 publish v=a s=2
			final n1: b`, "lost@n1"},
		{"never sent", `final n1: x`, "unexpected@n1"},
	})
}

func TestBatches(t *testing.T) {
	abc := `
		1 add b=B v=a
		1 add b=B v=b
		`
	checkTales(t, func(ops []history.Operation) []check.Finding { return check.Batches(ops, "S") }, []tale{
		{"all", abc + `
			1 commit b=B v=c e=3 s=4
			2 publish v=x s=1
			final *: x a b c`, ""},
		{"unknown, none", abc + `
			1 commit b=B v=c e=3 unknown
			final *:`, ""},
		{"unknown, all", abc + `
			1 commit b=B v=c e=3 unknown
			final *: a b c`, ""},
		{"refused", abc + `
			1 commit b=B v=c e=3 failed
			final *:`, ""},
		{"given up", abc + `final *:`, ""},
		{"a part whose answer was lost", `
			1 add b=B v=a unknown
			1 commit b=B v=b e=2 s=2
			final *: a b`, ""},
		{"two batches", `
			1 add b=A v=a
			2 add b=B v=b
			1 commit b=A v=aa e=2 s=2
			2 commit b=B v=bb e=2 s=4
			final *: a aa b bb`, ""},
		{"lost", abc + `
			1 commit b=B v=c e=3 s=3
			final n1: a b c
			final n2:`, "differs@n2 lost@n2"},
		{"torn", abc + `
			1 commit b=B v=c e=3 unknown
			final n1: a b`, "torn@n1"},
		{"torn though acknowledged", abc + `
			1 commit b=B v=c e=3 s=3
			final n1: _ b c`, "torn@n1"},
		{"refused and there", abc + `
			1 commit b=B v=c e=3 failed
			final n1: a b c`, "refused@n1"},
		{"never committed and there", abc + `final n1: a`, "refused@n1"},
		{"something in between", abc + `
			1 commit b=B v=c e=3 unknown
			2 publish v=x unknown
			final n1: a x b c`, "torn@n1"},
		{"in another order", abc + `
			1 commit b=B v=c e=3 unknown
			final n1: b a c`, "torn@n1"},
		{"elsewhere", abc + `
			1 commit b=B v=c e=3 s=4
			final n1: a b c`, "moved@n1"},
		{"twice", abc + `
			1 commit b=B v=c e=3 unknown
			final n1: a b c a b c`, "duplicate@n1"},
		{"at one node only", abc + `
			1 commit b=B v=c e=3 unknown
			final n1: a b c
			final n2:`, "differs@n2"},
		{"never sent", `final n1: x`, "unexpected@n1"},
	})
}
