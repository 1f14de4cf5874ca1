// Package config says what a stream and a consumer are asked to be: the values, their JSON form,
// their defaults, and what of them may change.
//
// All functions are pure. Whoever serves requests calls Normalized and CheckUpdate before it
// proposes a change, so that what is replicated is complete and valid; the state machine in jetlog
// checks again only what depends on state. What a caller did wrong is an *Error with the number that
// clients compare.
package config
