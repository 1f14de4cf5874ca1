package backup

import (
	"fmt"
	"time"
)

const (
	consumerMagic   = 22
	consumerVersion = 2
)

// decodeConsumerState reads `o.dat` of version 1. Integers are variable, signed ones marked with ±:
//
//	1 byte 22, 1 byte version 2
//	ack floor: delivery, sequence; delivered: delivery, sequence
//	number of pending, and if there are any: ±a second since 1970, and for each:
//	    sequence and delivery above the ack floor, ±how many seconds before that second
//	number of redelivered, and for each: sequence above the ack floor, how often
func decodeConsumerState(data []byte) (ConsumerState, error) {
	var s ConsumerState
	if len(data) < 2 || data[0] != consumerMagic {
		return s, fmt.Errorf("%w: it is not the state of a consumer", ErrDamaged)
	}
	if data[1] != consumerVersion {
		return s, fmt.Errorf("%w: the state of a consumer has version %d: restore it in the nats-server that has written it, "+
			"and take a backup with 2.15", ErrVersion, data[1])
	}
	d := &decoder{data: data[2:]}
	s.AckFloor.Consumer, s.AckFloor.Stream = d.unsigned(), d.unsigned()
	s.Delivered.Consumer, s.Delivered.Stream = d.unsigned(), d.unsigned()
	if n := d.count(); n > 0 {
		s.Pending = make(map[uint64]Pending, n)
		second := d.signed()
		for range n {
			seq, delivery := d.unsigned(), d.unsigned()
			before := d.signed()
			s.Pending[s.AckFloor.Stream+seq] = Pending{
				Sequence:  s.AckFloor.Consumer + delivery,
				Timestamp: (second - before) * int64(time.Second),
			}
		}
	}
	if n := d.count(); n > 0 {
		s.Redelivered = make(map[uint64]uint64, n)
		for range n {
			seq := d.unsigned()
			s.Redelivered[s.AckFloor.Stream+seq] = d.unsigned()
		}
	}
	return s, d.err
}
