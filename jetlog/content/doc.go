// Package content is filters over what messages say: their body, if it is JSON, their headers and their
// subject. A filter is written as a pattern in the form that EventBridge uses, compiled once, and asked about
// each message. It knows no stream, no clock and no chance: the same pattern and message give the same result
// on every replica and in every later version.
//
// # Patterns
//
// A pattern is a JSON object of fields. It matches if each of its fields does. A field has an array of
// alternatives, of which one is enough, or is an object of further fields:
//
//	{"type": ["order.created", "order.changed"], "customer": {"tier": ["gold"]}, "total": [{"numeric": [">=", 100]}]}
//
// Such a pattern is about the body. One that names body, headers or subject at its top is about these parts of
// the message, and nothing else may stand at the top then:
//
//	{"subject": [{"prefix": "orders.eu."}], "headers": {"Priority": ["high"]}, "body": {"total": [{"numeric": [">", 0]}]}}
//
// Alternatives are values, with which a field is compared as they are (a string, a number, true, false, null),
// and operators:
//
//	{"prefix": "eu-"}   {"suffix": ".png"}            a string begins or ends so
//	{"equals-ignore-case": "gold"}                    a string is this, whatever the case of its letters
//	{"prefix": {"equals-ignore-case": "eu-"}}         likewise, also for suffix
//	{"wildcard": "*/lib/*.so"}                        * is any number of characters, also none; \* and \\ are these themselves
//	{"numeric": [">", 0, "<=", 5]}                    a number in a range; =, <, <=, >, >= stand alone, too
//	{"cidr": "10.0.0.0/8"}                            a string is an IP address of this network
//	{"exists": true}    {"exists": false}             the field is there, whatever it is, or is not
//	{"anything-but": "new"}                           the field is there, and is another value; also a list of values
//	{"anything-but": {"prefix": "test-"}}             likewise with suffix, wildcard, equals-ignore-case and cidr, and lists for them
//
// For either of several fields there is $or, in the pattern and in objects within it. Its alternatives are
// objects like the one that it stands in:
//
//	{"type": ["order.created"], "$or": [{"total": [{"numeric": [">", 1000]}]}, {"customer": {"tier": ["gold"]}}]}
//
// # What exactly matches
//
//   - An array in a message matches if one of its elements does; arrays in arrays are looked through. The fields
//     of an object in a pattern must be found in one and the same element. So anything-but matches an array that
//     has anything else in it.
//   - A field that is not there matches exists false only. So does a field of something that is no object.
//   - An object matches exists true only. An empty array does, too, and nothing else that is about values.
//   - Numbers are compared as what they are, exactly, with all their digits: 100, 100.0 and 1e2 are the same, and
//     0.1 is not 0.10000000000000001.
//   - Strings are compared byte by byte after escape sequences were replaced. To ignore case, letters of the Latin,
//     Greek and Cyrillic scripts are folded one by one as Unicode says; those of other scripts are not.
//   - Where a field is there several times in one object, the first one counts.
//   - Headers and the subject are texts. A number, or numeric, matches a text that is a number by the grammar of
//     JSON. Names of headers are compared with their case, as everywhere. Of several fields of one name, one is
//     enough. A star in a wildcard over the subject also goes over dots.
//
// EventBridge differs in these points: exists looks there at values only, not at objects and empty arrays; numbers
// are limited there to ±5e9 and six decimals; and a name with dots in it is not told apart there from fields
// within fields.
//
// # What is not JSON
//
// A body is JSON if all of it is one value by RFC 8259, not nested deeper than document.DepthMax. Any other body,
// also an empty one, gives NotJSON if the result depends on the body: if subject and headers decide alone, the
// body is not looked at.
//
// # Cost
//
// A body is read once, to its end, without building a tree. A message costs about as much as checking that it is
// JSON. No operator is worse than linear in the length of a text, and a pattern is limited in its size, its depth
// and the number of its fields and alternatives.
package content
