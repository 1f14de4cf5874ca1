package server

import (
	"os"
	"time"

	"runnel/conf"
	"runnel/server/engine"
	"runnel/server/memory"
)

// How connections are treated while memory is scarce: how long who publishes to somebody that does not keep up waits for him, and how
// much may wait before who sends pauses.
const (
	slowPatience    = 100 * time.Millisecond
	stoppedPatience = time.Second
	scarceSoftBytes = 64 << 10
)

// budgetMemory finds out what the process may have, and has a keeper for it if there is a limit.
func (s *Server) budgetMemory(o *conf.Options) error {
	limit := memory.Limit{Bytes: o.Limits.MemoryBytes, Percent: o.Limits.MemoryPercent}
	budget, err := limit.Written(os.ReadFile)
	if err != nil {
		return err
	}
	if budget.Bytes == 0 {
		budget = s.host.Memory
	}
	if budget.Bytes == 0 {
		return nil
	}
	budget = budget.Apply()
	s.memory = memory.New(memory.Config{Budget: budget, Relieve: s.relieveMemory, Changed: s.memoryChanged, Logger: s.logger})
	s.logger.Info("Memory budget", "limit", budget.Bytes, "goal", budget.GoalBytes, "from", string(budget.Origin))
	return nil
}

// memoryChanged has the engine treat connections as the step says.
func (s *Server) memoryChanged(step memory.Step) {
	switch step {
	case memory.Slow:
		s.engine.SetScarcity(engine.Scarcity{Patience: slowPatience, SoftBytes: scarceSoftBytes})
	case memory.Stopped:
		most := max(s.memory.Shares().WaitingBytes, 2*s.state.Load().options.Limits.MaxPayloadBytes)
		s.engine.SetScarcity(engine.Scarcity{Patience: stoppedPatience, SoftBytes: scarceSoftBytes, MostBytes: most})
	default:
		s.engine.SetScarcity(engine.Scarcity{})
	}
}

// relieveMemory makes the room that can be made: what the store has in memory goes into files, and what it has read is forgotten.
func (s *Server) relieveMemory() {
	if s.store != nil {
		s.store.DropCache()
	}
	s.flushStore()
}
