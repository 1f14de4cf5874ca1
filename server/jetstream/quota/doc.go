// Package quota is what accounts may keep, and what they have: limits, by the number of replicas of a stream where they are
// given so, and bytes that are counted.
//
// The limits of an account hold for the whole cluster, whichever servers have its streams. Who decides whether a message is
// taken is the server that leads its stream, and what a stream has its leader knows best: so a Table counts the streams that are led
// here as they change, and of the others what their leaders say, who are asked every second or so. Each stream counts once,
// whoever speaks of it, so that it is not counted twice when its leader changes. What others have stored in the last second is not
// counted yet: with many streams on several servers an account may get that much beyond its limit.
package quota
