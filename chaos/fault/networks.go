package fault

import (
	"context"
	"time"

	"runnel/chaos/process"
)

// How slow a slow network is.
const (
	slowDelay          = 200 * time.Millisecond
	slowBytesPerSecond = 256 << 10
)

// networks are faults of what lies between servers.
func networks() []Kind {
	return []Kind{
		{Name: "cut", Text: "one server is cut off from the others", Takes: One, do: onNetwork(part)},
		{Name: "cut-minority", Text: "as many as may fail are cut off together", Takes: Minority, do: onNetwork(part)},
		{Name: "cut-one-way", Text: "what one server sends reaches none of the others", Takes: One, do: onNetwork(mute)},
		{Name: "bridge", Text: "one server reaches all, and the others only half of one another", Takes: One, Least: 3, do: onNetwork(bridge)},
		{Name: "slow", Text: "one server is far away: 200 ms, and 256 KiB a second", Takes: One, do: onNetwork(slow)},
		{Name: "reset", Text: "all connections of one server break, again and again", Takes: One, do: reset},
	}
}

// onNetwork is a fault that is done by change, and undone by healing the whole network, as one fault is done at a time.
func onNetwork(change func(c *process.Cluster, servers []*process.Server)) func(context.Context, *Runner, Step, []*process.Server) error {
	return func(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
		change(r.Cluster, servers)
		return r.last(ctx, s.For, func(context.Context) error {
			r.Cluster.Mesh().Heal()
			return nil
		})
	}
}

// numbers are the numbers of servers in the mesh.
func numbers(c *process.Cluster, servers []*process.Server) []int {
	var all []int
	for _, s := range servers {
		all = append(all, c.Number(s))
	}
	return all
}

func part(c *process.Cluster, servers []*process.Server) { c.Mesh().Part(numbers(c, servers)...) }

func mute(c *process.Cluster, servers []*process.Server) {
	for _, i := range numbers(c, servers) {
		for _, j := range numbers(c, c.Others(servers...)) {
			c.Mesh().CutFrom(i, j)
		}
	}
}

// bridge has the first of servers reach all, and parts the rest in two halves.
func bridge(c *process.Cluster, servers []*process.Server) {
	rest := numbers(c, c.Others(servers[0]))
	c.Mesh().Bridge(c.Number(servers[0]), rest[:len(rest)/2]...)
}

func slow(c *process.Cluster, servers []*process.Server) {
	for _, i := range numbers(c, servers) {
		for _, j := range numbers(c, c.Others(servers...)) {
			c.Mesh().Delay(i, j, slowDelay)
			c.Mesh().Throttle(i, j, slowBytesPerSecond)
		}
	}
}

// resetPause is how long connections live while they are broken again and again.
const resetPause = 500 * time.Millisecond

func reset(ctx context.Context, r *Runner, s Step, servers []*process.Server) error {
	for end := time.Now().Add(s.For); time.Now().Before(end); {
		for _, i := range numbers(r.Cluster, servers) {
			for _, j := range numbers(r.Cluster, r.Cluster.Others(servers...)) {
				r.Cluster.Mesh().Reset(i, j)
			}
		}
		if err := sleep(ctx, resetPause); err != nil {
			return err
		}
	}
	return nil
}
