// Package disk harms what a server keeps on its disk, and says exactly what it has done.
//
// There are three sorts of harm. A [Folder] damages files of a server that is down: bits, lengths, pieces that are as they were some
// time ago, whole files. [FailSyncs], [NewRoom] and [ReadOnly] have the disk of one that runs fail, by way of strace and mounts. And a
// [Forgetting] lets a server lose what it has written and never synced, as a power cut does, and only that: a trace of its system
// calls proves it.
//
// None of them touches anything outside the folder it is given. Where the machine does not allow one, [Tracing] and [Mounting] say why.
package disk
