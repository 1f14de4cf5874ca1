// Package sqltest tries what package client does in databases: in SQLite always, and in PostgreSQL where its programs are
// installed, or where RUNNEL_TEST_POSTGRES has the address of a database. It is a module of its own, so that the drivers, which
// only the tests need, do not weigh on the module of the server.
package sqltest
