package jetstream

import (
	"runnel/jetlog/store"
	"runnel/server/jetstream/deadletters"
	"runnel/server/jetstream/delivery"
)

// openLetters begins to hand over what consumers of a stream give up.
func (s *Service) openLetters(d *delivery.Stream, log delivery.Log, now func() int64) delivery.Letters {
	return deadletters.Open(deadletters.Config{
		Account: d.Account().Name(), Log: log.(*store.Stream), Put: s.putter.Put, Now: now, Handed: func(consumer string) { d.Acked(consumer) }, Logger: s.logger,
	})
}
