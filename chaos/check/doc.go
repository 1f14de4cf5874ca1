// Package check finds in the history of a run what a server must not have done. It is pure: operations
// in, findings out.
//
// There is a checker for each workload. Each is given the whole history and picks out what concerns its
// stream. All of them follow the same two rules:
//
//   - What is Unknown may have happened, at any time after its start, or not. A checker reports what is
//     wrong whichever way it was, and nothing else.
//   - What could not be checked (a node that nobody could drain, a register with too many possible
//     pasts) is a finding of its own, Unchecked, and never passes as checked.
//
// The order of a history is relied on within one process only. Where something must come before something
// else, one has ended strictly before the other started.
//
// Findings of a kind at a node are one Finding with a count and a few examples, so that a server that
// loses a million messages does not make a million findings.
package check
