// Package accounts says who may do what, and who wants what: accounts with
// their interest trees, users, credentials and permissions, and what accounts share
// and rewrite: exports, imports and mappings.
//
// Four kinds of state, and who changes them:
//
//   - A Policy is one configuration in compiled form. It is immutable, and so are
//     its Profiles (permissions of one or more users, compared by pointer). A
//     reload compiles a new Policy and moves to it by one pointer.
//   - An Account outlives policies: live connections, its interest and its counters
//     hang on it. A Registry keeps accounts by name and hands the same Account to
//     each Policy that mentions it.
//   - A network has the definitions of accounts (what each exports, imports and maps)
//     and the passages between them (the imports in force). A Policy brings one for
//     all its accounts at once; another one changes with each Put of an account.
//     Only a Registry works on them. What messages meet are the Crossings of their
//     account, which change in one step each; then what was remembered of the
//     account's interest is invalid.
//   - A Subscription belongs to the connection that made it and sits in the
//     interest tree of its account.
//
// The package knows no socket, no configuration file and no clock: times are
// given by the caller.
package accounts
