// Package body is the messages of a stream as its state machine sees them: what a message is and what
// is known of it, the questions that can be asked of many, and a body that is nothing but memory.
//
// Nothing here decides what is stored and what goes: that is Apply in package jetlog. Bodies are safe
// for many readers while nobody changes them.
package body
