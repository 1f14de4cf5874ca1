// Package powercut runs the servers of a cluster inside this process, on disks that can lose their power: all at the same
// instant, or some. What was not synced by then is gone, there or torn, as chance wants it. A process can only be killed,
// which leaves to the operating system what it had written; what a server promises beyond that is shown here.
//
// Each server has one power switch for all that it keeps, [Supply]. When it goes off, whatever the server does to its disk
// fails, nothing that it wrote after the copy of the disk was made can be seen again, and its connections break before it can say
// anything about it. The server then runs into the wall of its own failures and is thrown away; a new one starts on the
// copy. Clients and other servers reach it at the same addresses as before.
package powercut
