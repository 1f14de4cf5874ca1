// Package syntax reads the NATS config language: text becomes values that know
// where they stand.
//
// The language is a superset of JSON. A file is a map; a key and its value are
// separated by a colon, an equals sign or a blank, and end with the line, a
// comma or a semicolon. Comments begin with `#` or `//` between words.
//
//	port: 4222                  # a number; k is 1000, kb and kib are 1024
//	server_name = "east 1"      // "..." knows escapes, '...' does not
//	cluster {                   # a map needs no separator
//	  routes [                  # neither does a list
//	    nats://a:6222           # by line or by comma
//	  ]
//	}
//	token: $TOKEN               # a key above, or else the environment
//	include "users.conf"        # its keys stand here
//	banner: (                   # raw text up to a `)` on its own line
//	  anything
//	)
//
// [Parse] goes through the text once and resolves variables and includes on the
// way, so only what stands above can be referred to. Everything that could be
// made to grow without end has a limit: nesting, the size of all files,
// includes, and the number of values after variables multiplied them.
package syntax
