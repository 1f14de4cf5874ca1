// Package accounts says who may do what, and who wants what: accounts with
// their interest trees, users, credentials and permissions.
//
// Three kinds of state, and who changes them:
//
//   - A Policy is one configuration in compiled form. It is immutable, and so are
//     its Profiles (permissions of one or more users, compared by pointer). A
//     reload compiles a new Policy and moves to it by one pointer.
//   - An Account outlives policies: live connections, its interest and its counters
//     hang on it. A Registry keeps accounts by name and hands the same Account to
//     each Policy that mentions it.
//   - A Subscription belongs to the connection that made it and sits in the
//     interest tree of its account.
//
// The package knows no socket, no configuration file and no clock: times are
// given by the caller.
package accounts
