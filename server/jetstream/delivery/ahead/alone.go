package ahead

import (
	"bytes"

	"runnel/headers"
	"runnel/jetlog"
	"runnel/server/jetstream/api"
)

// Passes reports whether a consumer passes over a message, since that is for another one alone. To those without headers it costs
// nothing, to others one look at these.
func Passes(m *jetlog.Message, consumer string) bool {
	if len(m.Header) == 0 || !bytes.Contains(m.Header, []byte(api.RedriveTo)) {
		return false
	}
	to, alone := headers.Get(m.Header, api.RedriveTo)
	return alone && string(to) != consumer
}
