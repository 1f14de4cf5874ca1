// Package applying knows what raft is doing with an entry that it has asked its log for.
package applying

import (
	"runtime"
	"strings"
)

// frames is how far up the stack it is looked: raft calls its log directly, through a wrapper or two.
const frames = 32

// Stop ends the calling goroutine if it is raft's main loop, about to apply an entry that could not be read: raft would panic, and end the
// process for the sake of one group. All other readers have a use for an error, and for them it returns.
//
// With its main loop raft's part in the group ends. Whoever calls must have seen to it that the group is closed soon.
func Stop() {
	var callers [frames]uintptr
	list := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		f, more := list.Next()
		if strings.HasSuffix(f.Function, ".(*Raft).processLogs") {
			runtime.Goexit()
		}
		if !more {
			return
		}
	}
}
