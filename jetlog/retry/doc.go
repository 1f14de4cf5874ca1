// Package retry is when a message that was not processed is delivered again, and when no more: the policy that
// a consumer names in its metadata. It asks no clock and no chance: a delay follows from the policy, the number
// of the delivery and a seed, such as the sequence of the message, so all replicas come to the same one.
//
// A policy is written as one of:
//
//	exponential,min=1s,max=5m,factor=2,jitter=0.2,attempts=10,total=1h
//	fixed,delay=30s,jitter=0.1,attempts=10,total=1h
//
// With exponential, the first delay is min, and each further one is factor times as long, at most max. With
// fixed, all are alike. All settings may be left out, but for delay:
//
//	min       1s    1ms to max
//	max       5m    min to 720h
//	factor    2     1.1 to 100, with at most three decimals
//	jitter    0.2   0 to 1, with at most three decimals; 0 with fixed
//	delay           1ms to 720h
//	attempts        1 to 1000000 deliveries, the first one counted; without it there is no such end
//	total           1ms to 8760h from the first delivery on; without it there is no such end
//
// Jitter keeps messages that failed together from coming back together: a delay is drawn evenly from that share
// below and above it. With exponential it is still never below min or above max: at these ends all of what it
// is drawn from lies inside.
//
// All arithmetic is on whole nanoseconds and thousandths, since the rounding of floating point is not the same
// on all processors.
package retry
