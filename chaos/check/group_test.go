package check_test

import (
	"testing"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

func TestGroup(t *testing.T) {
	two := `
		1 publish k=x v=a s=1 t=0-1
		1 publish k=x v=b s=2 t=1-2
		`
	checkTales(t, func(ops []history.Operation) []check.Finding {
		return check.Group(ops, check.GroupConfig{
			Stream: "S", Consumer: "G", AckWait: 30 * time.Second, Idle: 10 * time.Second, Grace: 5 * time.Second,
		})
	}, []tale{
		{"one after the other, by two workers", two + `
			8 fetch k=x v=a s=1 t=2-3
			8 ack k=x v=a s=1 t=4-5
			9 fetch k=x v=b s=2 t=3-5.5
			9 ack k=x v=b s=2 t=6-7`, ""},
		{"the next comes before the worker hears that its ack is taken", two + `
			8 fetch k=x v=a s=1 t=2-3
			8 ack k=x v=a s=1 t=4-9
			9 fetch k=x v=b s=2 t=3-5
			9 ack k=x v=b s=2 t=6-7`, ""},
		{"keys do not wait for each other", `
			1 publish k=x v=a s=1 t=0-1
			1 publish k=y v=b s=2 t=1-2
			8 fetch k=x v=a s=1 t=2-3
			9 fetch k=y v=b s=2 t=2-4
			9 ack k=y v=b s=2 t=5-6
			8 ack k=x v=a s=1 t=7-8`, ""},
		{"again after the ack wait", two + `
			8 fetch k=x v=a s=1 t=2-3
			9 fetch k=x v=a s=1 t=20-34
			9 ack k=x v=a s=1 t=35-36
			9 fetch k=x v=b s=2 t=36-37
			9 ack k=x v=b s=2 t=38-39`, ""},
		{"given back, and at once with another", `
			1 publish k=x v=a s=1 t=0-1
			8 fetch k=x v=a s=1 t=2-3
			8 nak k=x v=a s=1 t=4-5
			9 fetch k=x v=a s=1 t=4-6
			9 ack k=x v=a s=1 t=7-8`, ""},
		{"its worker left", `
			1 publish k=x v=a s=1 t=0-1
			8 fetch k=x v=a s=1 t=2-3
			8 leave t=4-5
			9 fetch k=x v=a s=1 t=4-6
			9 ack k=x v=a s=1 t=7-8`, ""},
		{"an ack of unknown result that happened", two + `
			8 fetch k=x v=a s=1 t=2-3
			8 ack k=x v=a s=1 t=4-5 unknown
			9 fetch k=x v=b s=2 t=3-6
			9 ack k=x v=b s=2 t=7-8`, ""},
		{"an ack of unknown result that did not happen", two + `
			8 fetch k=x v=a s=1 t=2-3
			8 ack k=x v=a s=1 t=4-5 unknown
			9 fetch k=x v=a s=1 t=30-34
			9 ack k=x v=a s=1 t=35-36
			9 fetch k=x v=b s=2 t=36-37
			9 ack k=x v=b s=2 t=38-39`, ""},
		{"on its way while the next came already", two + `
			8 fetch k=x v=a s=1 t=2-3
			7 fetch k=x v=a s=1 t=2-37
			8 ack k=x v=a s=1 t=33-34
			9 fetch k=x v=b s=2 t=34-35
			9 ack k=x v=b s=2 t=36-37`, ""},
		{"a long wait while something was broken", `
			1 publish k=x v=a s=1 t=0-1
			0 fault v=kill t=2-50
			8 fetch k=x v=a s=1 t=2-55
			8 ack k=x v=a s=1 t=55-56`, ""},
		{"an unknown publish that came late", two + `
			1 publish k=x v=c unknown t=2-3
			8 fetch k=x v=a s=1 t=2-3
			8 ack k=x v=a s=1 t=4-5
			8 fetch k=x v=b s=2 t=5-6
			8 ack k=x v=b s=2 t=6-7
			8 fetch t=8-90`, ""},
		{"an ack of unknown result that did not happen, and the message in other hands at the end", two + `
			8 fetch k=x v=a s=1 t=2-3
			8 ack k=x v=a s=1 t=4-5 unknown
			9 fetch k=x v=a s=1 t=30-34
			9 fetch t=60-70`, ""},
		{"other consumers do not matter", two + `
			8 fetch k=x v=b s=2 t=2-3 c=H
			8 fetch k=x v=a s=1 t=2-3 c=G
			8 ack k=x v=a s=1 t=4-5 c=G
			8 fetch k=x v=b s=2 t=5-6 c=G
			8 ack k=x v=b s=2 t=6-7 c=G`, ""},

		{"before the one before is done", two + `
			8 fetch k=x v=a s=1 t=2-3
			9 fetch k=x v=b s=2 t=2-4
			8 ack k=x v=a s=1 t=5-6
			9 ack k=x v=b s=2 t=6-7`, "order@n1"},
		{"the later one first", two + `
			9 fetch k=x v=b s=2 t=2-3
			9 ack k=x v=b s=2 t=4-5
			8 fetch k=x v=a s=1 t=4-6
			8 ack k=x v=a s=1 t=7-8`, "order@n1"},
		{"back to the earlier one", two + `
			8 fetch k=x v=a s=1 t=2-3
			8 ack k=x v=a s=1 t=4-5 unknown
			9 fetch k=x v=b s=2 t=5-6
			8 fetch k=x v=a s=1 t=7-40
			8 ack k=x v=a s=1 t=41-42
			9 ack k=x v=b s=2 t=7-8`, "order@n1"},
		{"in two hands", `
			1 publish k=x v=a s=1 t=0-1
			8 fetch k=x v=a s=1 t=2-3
			9 fetch k=x v=a s=1 t=2-4
			8 ack k=x v=a s=1 t=5-6`, "overlap@n1"},
		{"again after its ack was confirmed", `
			1 publish k=x v=a s=1 t=0-1
			8 fetch k=x v=a s=1 t=2-3
			8 ack k=x v=a s=1 t=4-5
			9 fetch k=x v=a s=1 t=33-34`, "redelivered@n1"},
		{"a key that waits too long", two + `
			8 fetch k=x v=a s=1 t=2-3
			8 ack k=x v=a s=1 t=4-5
			9 fetch k=x v=b s=2 t=10-16
			9 ack k=x v=b s=2 t=17-18`, "stalled@"},
		{"a key that waits to the end", two + `
			8 fetch k=x v=a s=1 t=2-3
			8 ack k=x v=a s=1 t=4-5
			9 fetch t=6-40`, "stalled@"},
		{"a message that does not come again", `
			1 publish k=x v=a s=1 t=0-1
			8 fetch k=x v=a s=1 t=2-3
			9 fetch t=6-60`, "stalled@"},
		{"neither the next one comes after an ack of unknown result, nor that one again", two + `
			8 fetch k=x v=a s=1 t=2-3
			8 ack k=x v=a s=1 t=4-5 unknown
			9 fetch t=60-70`, "stalled@"},
		{"never published", `
			8 fetch k=x v=z s=1 t=2-3
			8 ack k=x v=z s=1 t=4-5`, "unexpected@n1"},
	})
}
