package delivery

import (
	"time"

	"runnel/jetlog"
	"runnel/jetlog/command"
	"runnel/jetlog/letters"
)

// lettersMost is how many letters of a consumer may wait before it is sent nothing new.
const lettersMost = letters.Waiting

// Letters hands over what consumers of a stream have given up, to streams for that. Its methods are safe for concurrent use.
type Letters interface {
	// Wake tells that there may be something to be handed over. It is quick.
	Wake()
	// Trouble returns why nothing of a consumer is handed over, empty if nothing is known that stands in the way.
	Trouble(consumer string) string
	Close()
}

// noLetters is for a pool that hands nothing over.
type noLetters struct{}

func (noLetters) Wake()                 {}
func (noLetters) Trouble(string) string { return "" }
func (noLetters) Close()                {}

// openLetters begins to hand over what consumers of the stream have given up.
func (s *Stream) openLetters(log Log) {
	if open := s.pool.cfg.Letters; open != nil {
		s.letters = open(s, log, s.now)
	}
}

// Dead tells that consumers have given something up that nobody has answered to.
func (s *Stream) Dead() { s.letters.Wake() }

// giveUp makes the command for messages that are not to come again, of a consumer that hands them over; why is what their
// receivers have said.
func (t *turn) giveUp(list []command.GivenUp, f flight) {
	if len(list) == 0 {
		return
	}
	f.command = &command.GiveUp{Time: t.ns, Consumer: t.c.name, Messages: list}
	f.dead = true
	t.launch(&f)
}

// lettersRoom returns how many new messages may be sent until too many letters wait to be handed over.
func (t *turn) lettersRoom() int { return max(lettersMost-t.applied.letters, 0) }

// letters has what is given up handed over, if the command has done that.
func (f *flight) letters(s *Stream, exhausted []jetlog.Exhausted) {
	skip, skipped := f.command.(*command.Skip)
	if f.dead || len(exhausted) > 0 || skipped && len(skip.Failed) > 0 {
		s.letters.Wake()
	}
}

// held says that what is given up cannot be handed over, or that too much of it waits.
func (s *State) held(letters int, trouble string) {
	if letters == 0 || trouble == "" && letters < lettersMost {
		return
	}
	s.Stalled, s.StalledUntil, s.Detail = DeadLetter, time.Time{}, trouble
}
