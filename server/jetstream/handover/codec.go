package handover

import (
	"fmt"

	"runnel/jetlog/command"
	"runnel/server/jetstream/ingest"
)

// encode writes messages down for another server: as a pack of commands, of which the receiver sets the time.
func encode(puts []ingest.Put) []byte {
	list := make([]command.Publish, len(puts))
	for i := range puts {
		p := &puts[i]
		list[i] = command.Publish{Subject: p.Subject, Header: p.Header, Payload: p.Payload, Put: &p.Mark}
	}
	return command.AppendPack(nil, list)
}

// decode reads what encode has written. The messages refer to data.
func decode(data []byte) ([]ingest.Put, error) {
	list, err := command.DecodePack(data)
	if err != nil {
		return nil, fmt.Errorf("messages of another server: %w", err)
	}
	puts := make([]ingest.Put, len(list))
	for i := range list {
		c := &list[i]
		if c.Put == nil {
			return nil, fmt.Errorf("messages of another server: %q is put in nobody's name", c.Subject)
		}
		puts[i] = ingest.Put{Subject: c.Subject, Header: c.Header, Payload: c.Payload, Mark: *c.Put}
	}
	return puts, nil
}
