// Package chaos runs campaigns: a cluster of real server processes, clients that work on it, faults by a plan, and in the end the
// question whether anything that a client was told is not true.
//
//	cluster ──▶ setup ──▶ load ─────────────────────────▶ heal ──▶ final reads ──▶ checks
//	                        faults, by the plan of a seed
//
// All that clients do and all faults are in one file, the history, from which the findings are made; whoever doubts one can look
// it up there. The same campaign runs against any server that speaks the protocol.
package chaos
