// Package rescue is what is done with a store that nobody has open, when something is wrong with it.
//
//	found, err := rescue.Check(cfg)                       // verifies all, changes nothing
//	lost, err := rescue.Salvage(cfg, "A", "ORDERS", f)    // reads what can be read of a stream
//	lost, err := rescue.Repair(cfg, "A", "ORDERS")        // gives up what is damaged of it
//
// Check and Salvage see the store as it would be if it were opened, over a disk that remembers in memory what is written.
// Repair works on the stream as of its last flush, as the manifest has it; what the log has besides is applied when the
// store is opened the next time. A stream that other servers have too is not repaired: it gets its state from them.
package rescue
