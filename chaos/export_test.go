package chaos

import (
	"time"

	"runnel/chaos/fault"
)

// PlanOf is what is done in some rounds of a condition.
func PlanOf(c Condition, rounds int) []fault.Step { return c.plan(rounds, time.Second) }
