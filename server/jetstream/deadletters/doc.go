// Package deadletters hands over what consumers have given up to their dead-letter streams.
//
// What is given up is in the state of the stream that it comes from: a letter, with a number (package jetlog/letters). Its
// message stays where it is until the letter is in the dead-letter stream. Whoever leads the stream puts the messages there, in
// the order of the numbers and under a name that no other letters have (package handover), and notes then that they are there.
// If it goes before that is noted, the next leader puts them again, and the dead-letter stream knows the numbers: so each is
// there once. A dead-letter stream that is missing, full, or refuses a message loses nothing: the letters stay, those behind
// wait for their turn, and State says why.
//
// A stream has one goroutine for this while there are letters.
package deadletters
