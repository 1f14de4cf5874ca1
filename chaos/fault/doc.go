// Package fault harms a cluster and heals it again, by a plan that a seed makes: the same seed gives the same plan.
//
// A [Kind] is one sort of harm: which servers it takes, what it does to them and how it is undone. A [Plan] is a list of
// [Step]s one after the other, with quiet times between, since what a fault has done shows when it is over. A [Runner] carries a
// plan out and notes each fault in the history of the run.
//
// What cannot be done where the run takes place is said before it begins, by [Kind.Missing], and never counts as passed.
package fault
