package command_test

import (
	"strings"
	"testing"

	"runnel/jetlog/command"
)

// TestUnsound finds what contradicts itself in the state of a consumer.
func TestUnsound(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*command.ConsumerRestore)
		want   string
	}{
		"nothing":                 {func(*command.ConsumerRestore) {}, ""},
		"passed over":             {func(c *command.ConsumerRestore) { c.Pending[0].Consumer, c.Pending[1].Consumer = 9, 4 }, ""},
		"floor above":             {func(c *command.ConsumerRestore) { c.FloorStream = 31 }, "ack floor"},
		"floor of deliveries":     {func(c *command.ConsumerRestore) { c.FloorConsumer = 13 }, "ack floor"},
		"out of range":            {func(c *command.ConsumerRestore) { c.DeliveredStream = command.SequenceMax + 1 }, "out of range"},
		"pending below the floor": {func(c *command.ConsumerRestore) { c.Pending[0].Sequence = 7 }, "pending messages are not in order"},
		"never delivered":         {func(c *command.ConsumerRestore) { c.Pending[0].Count = 0 }, "pending messages are not in order"},
		"no number":               {func(c *command.ConsumerRestore) { c.Pending[0].Consumer = 0 }, "pending messages are not in order"},
		"pending above":           {func(c *command.ConsumerRestore) { c.Pending[1].Sequence = 31 }, "were not delivered"},
		"number above":            {func(c *command.ConsumerRestore) { c.Pending[0].Consumer = 13 }, "were not delivered"},
		"exhausted":               {func(c *command.ConsumerRestore) { c.Exhausted = []uint64{11, 9} }, "exhausted"},
		"exhausted above":         {func(c *command.ConsumerRestore) { c.Exhausted = []uint64{31} }, "exhausted"},
		"initial":                 {func(c *command.ConsumerRestore) { c.Initial = []uint64{40, 40} }, "initial"},
		"initial above":           {func(c *command.ConsumerRestore) { c.Resume = 39 }, "initial"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &command.ConsumerRestore{
				DeliveredConsumer: 12, DeliveredStream: 30, FloorConsumer: 3, FloorStream: 7,
				Pending:   []command.Restored{{Sequence: 8, Consumer: 4, Count: 2}, {Sequence: 30, Consumer: 12, Count: 1}},
				Exhausted: []uint64{9, 11}, Initial: []uint64{31, 40}, Resume: 41,
			}
			tt.change(c)
			if got := c.Unsound(); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
