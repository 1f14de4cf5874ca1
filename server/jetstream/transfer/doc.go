// Package transfer moves backups of streams between the server and its clients, in chunks: on the way out no more than a
// window that the client has not acknowledged, on the way in one answer for each chunk, when it is read. What is in the
// chunks is package backup's matter.
//
// # Goroutines
//
// A transfer has one goroutine, which writes or reads it, and which waits for a client that is slow no longer than some
// seconds at a time. Acknowledgements and chunks come in on the worker of who sends them, and are only filed.
package transfer
