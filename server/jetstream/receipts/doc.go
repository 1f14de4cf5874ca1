// Package receipts lets a message be published together with the acknowledgement of the message from which it was made: both
// happen or neither does, whatever crashes in between, and a message that is processed twice has one outcome.
//
// Two streams have a part in it, which may be led by different servers, and may be the same:
//
//   - The origin has the message that was processed. Package-wide, Origin is its leader's view: whether a delivery waits
//     for an answer, and the acknowledgement once it is owed.
//   - The target gets what was made of it. Stream is its leader's part.
//
// The leader of the target asks that of the origin whether the delivery waits for an answer (Find). If so it stores the message
// and, in the same command, that the acknowledgement is owed (package jetlog/causes): from here on both will happen. A second
// outcome of the same delivery is a duplicate then, since the target knows it. Then the leader pays: it has the origin settle
// the delivery, which is durable when the answer comes, and notes that. If it goes before, the next leader of the target finds
// the debt in the state, and pays; to pay twice does no harm. What is refused is refused before anything is stored.
//
// Where both streams are the same one, one command does both.
//
// All publications that acknowledge the same message have to go to the same target: two targets know nothing of each other.
//
// # Goroutines
//
// A target has one for each origin that it asks, while there are questions, and one that pays while something is owed. None
// waits for another.
package receipts
