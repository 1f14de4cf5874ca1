// Package breaker finds out when most of what a consumer's workers try fails, so that the consumer is paused before it uses up
// the attempts of everything that waits: what it takes to process is broken then, rather than a few messages. It knows no
// clock and no network.
//
// A policy is written as settings, all of which may be left out:
//
//	failures=50%,window=1m,min=20,pause=30s
//
//	failures   the share of failures from which on the consumer is paused, from 1% to 100%
//	window     the time over which they are counted
//	min        attempts of which at least so many must have ended in that time
//	pause      how long the consumer rests then
//
// An attempt fails if the message is asked for again, if it is terminated, or if it is not answered in time.
package breaker
