// Package compaction decides which files of a stream become one, and makes it. Files of about one size are put together,
// so that each byte is written again only when what it is in grows a lot by that: then a stream has few files of each
// size, and something is written as often as sizes have doubled on its way, at most.
//
// Messages and what is said about subjects (facts) have tiers of their own. Files of messages stay at a size that is
// quickly rewritten, however many they are: a sequence is in one of them. But whoever looks for a subject asks every file
// that has facts, and so those of many files are put together in one that has nothing else, long after their messages
// are left where they are. Those files are then covered: nobody asks them about subjects any more.
package compaction
