// Package document reads JSON documents in place: one pass from the first byte to the last, no tree, no
// allocation, nesting bounded. It is what content filters and keys out of bodies stand on.
//
// A Reader stands before a value, says of what kind it is, and is told what to do with it: Skip it, go into
// it with Enter and Next, or take it as Text or Scalar. Whatever it passes, it checks by the grammar of RFC
// 8259. The first error is kept: from then on nothing more is read, every loop ends, and Done is false. So
// callers ask once, at the end:
//
//	r := document.Read(body)
//	for more := r.Enter(document.Object); more; more = r.Next(document.Object) {
//		if key := r.Key(); key.Is("total") {
//			total = r.Scalar()
//		} else {
//			r.Skip()
//		}
//	}
//	if !r.Done() {
//		... not JSON
//	}
//
// Libraries of the field read JSON as fast, but not so: they have no limit of nesting, so that a body of nothing
// but brackets ends the process, or they read what is not JSON as if it were, or read twice to find out.
//
// The same bytes are read in the same way for all time, since replicas decide by them:
//   - the bytes of texts are not checked to be UTF-8, they are taken as they are
//   - an escaped half of a surrogate pair without the other one becomes U+FFFD
//   - members of an object come in their order, also those of one name
//   - nesting deeper than DepthMax is an error
package document
