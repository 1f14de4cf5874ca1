//go:build unix && !long

package main

// killings is how often TestKill kills the server: with the tag long, a hundred times.
const killings = 8
