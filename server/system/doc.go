// Package system is the server seen from its system account: the request services under $SYS.REQ and the
// events under $SYS.SERVER and $SYS.ACCOUNT.
//
// It reaches clients only through a [Bus], the state of the server only through the pages of package
// monitor, and changes the server only through [Actions]. The bus delivers requests on the goroutine that
// read them from a client; this package only files them there and answers on goroutines of its own, so a
// slow page never holds up a message.
package system
