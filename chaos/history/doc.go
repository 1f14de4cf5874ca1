// Package history is what was done in a run and what came of it: one Operation after the other, kept
// as a file while the run goes on, and read back for the checks.
//
// # File
//
// A history is a text file of JSON objects, one a line, in the order in which the operations were
// recorded. That is about the order of their ends; nobody may rely on it across processes:
//
//	{"process":3,"node":"n1","workload":"W1","kind":"publish","stream":"LOG","value":"3-17","sequence":40,"start":81,"end":95,"result":"ok"}
//
// Fields that are empty are left out, and fields that a reader does not know it skips. The faults of the
// run are operations too, so that one file is the whole picture. A harness that dies leaves a file whose
// last line is cut off; it is read up to there.
//
// # Results
//
// Everything rests on the three results being told apart honestly. OK is what the server confirmed, Failed
// what it guarantees not to have done, and everything else is Unknown: the checks then allow both.
package history
