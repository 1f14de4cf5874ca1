// Package rescue is what is done with a store that nobody has open, when something is wrong with it: check it, read what
// can be read of a stream, and repair a stream by giving up what is damaged.
package rescue
