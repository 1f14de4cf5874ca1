package check_test

import (
	"testing"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

func TestBucket(t *testing.T) {
	checkTales(t, func(ops []history.Operation) []check.Finding { return check.Bucket(ops, "S") }, []tale{
		{"a watcher that sees all", `
			9 watch-start
			1 put k=x v=a s=1
			9 watch k=x v=a s=1
			1 put k=x v=b s=2
			9 watch k=x v=b s=2
			1 put k=x s=3
			9 watch k=x s=3
			9 watch-end
			final *: _ _ x=`, ""},
		{"a watcher that connects again, and is told again", `
			1 put k=x v=a s=1
			9 watch k=x v=a s=1
			9 watch-start
			9 watch k=x v=a s=1
			9 watch-end
			final *: x=a`, ""},
		{"a watcher that misses what was replaced while it was away", `
			1 put k=x v=a s=1
			9 watch k=x v=a s=1
			1 put k=x v=b s=2
			1 put k=x v=c s=3
			9 watch-start
			9 watch k=x v=c s=3
			9 watch-end
			final *: _ _ x=c`, ""},
		{"a watcher that came after a deletion", `
			1 put k=x v=a s=1
			1 put k=x s=2
			9 watch-start
			9 watch-end
			final *: _ x=`, ""},
		{"a watcher that was not there to the end, and one that was", `
			8 watch-start
			1 put k=x v=a s=1
			9 watch k=x v=a s=1
			9 watch-end
			final *: x=a`, ""},
		{"unknown puts that happened or not", `
			1 put k=x v=a s=1
			1 put k=x v=b unknown
			1 put k=y v=c unknown
			1 put k=z unknown
			9 watch k=x v=b s=2
			9 watch-end
			final *: _ x=b`, ""},
		{"a delete of unknown result that happened", `
			1 put k=x v=a s=1
			1 put k=x unknown
			9 watch k=x s=2
			9 watch-end
			final *: _ x=`, ""},

		{"the newest is lost", `
			1 put k=x v=a s=1
			1 put k=x v=b s=2
			9 watch k=x v=a s=1
			9 watch-end
			final n1: x=a`, "lost@n1"},
		{"a key is lost at one node", `
			1 put k=x v=a s=1
			9 watch k=x v=a s=1
			9 watch-end
			final n1: x=a
			final n2:`, "differs@n2 lost@n2"},
		{"a delete is lost", `
			1 put k=x v=a s=1
			1 put k=x s=2
			9 watch k=x v=a s=1
			9 watch-end
			final n1: x=a`, "lost@n1"},
		{"revisions fall", `
			1 put k=x v=a s=1
			1 put k=x v=b s=2
			9 watch k=x v=b s=2
			9 watch-start
			9 watch k=x v=a s=1
			9 watch k=x v=b s=2
			9 watch-end
			final n1: _ x=b`, "order@n1"},
		{"told twice", `
			1 put k=x v=a s=1
			9 watch k=x v=a s=1
			9 watch k=x v=a s=1
			9 watch-end
			final n1: x=a`, "duplicate@n1"},
		{"a watcher that stays behind", `
			1 put k=x v=a s=1
			1 put k=x v=b s=2
			9 watch k=x v=a s=1
			9 watch-end
			final n1: _ x=b`, "differs@n1"},
		{"a watcher that does not know a key", `
			1 put k=x v=a s=1
			9 watch-end
			final n1: x=a`, "differs@n1"},
		{"a watcher that knows more than the store", `
			1 put k=x v=a unknown
			9 watch k=x v=a s=1
			9 watch-end
			final n1:`, "differs@n1"},
		{"a watcher and an ack differ", `
			1 put k=x v=a s=1
			1 put k=x v=b unknown
			9 watch k=x v=b s=1
			9 watch-end
			final n1: x=b`, "conflict@n1"},
		{"under another key", `
			1 put k=x v=a unknown
			9 watch k=y v=a s=1
			9 watch-end
			final n1: y=a`, "unexpected@n1"},
		{"deleted by nobody", `
			1 put k=x v=a s=1
			9 watch k=x s=2
			9 watch-end
			final n1: _ x=`, "unexpected@n1"},
		{"refused", `
			1 put k=x v=a failed
			9 watch k=x v=a s=1
			9 watch-end
			final n1: x=a`, "refused@n1"},
		{"no watcher", `
			1 put k=x v=a s=1
			final n1: x=a`, "unchecked@"},
	})
}
