//go:build unix && long

package main

// killings is how often TestKill kills the server.
const killings = 100
