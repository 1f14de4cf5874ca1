package soak

import (
	"context"
	"fmt"
	"time"
)

// ownDescriptors is how many this process needs beside connections.
const ownDescriptors = 200

// connections opens as many as there may be, and publishes to all of them.
func connections(ctx context.Context, r *rig) error {
	n := r.load.Connections
	if most := openFiles(); most > 0 && n > most-ownDescriptors {
		return fmt.Errorf("%d connections, where a process may have %d files open: raise the limit (ulimit -n): %w", n, most, errNotRunnable)
	}
	var many crowd
	defer many.leave(false)
	return r.beside(ctx, func(ctx context.Context) error {
		began := time.Now()
		address := r.server.Config().Client
		if err := many.joinAll(ctx, address, n, 128, func(i int) string { return fmt.Sprintf("SUB soak.each.%d 1\r\nSUB soak.all 2\r\n", i) }); err != nil {
			r.violated("of %d connections some were not accepted: %.200s", n, err)
			return nil
		}
		u, err := r.usage()
		if err != nil {
			return err
		}
		r.noted("%d connections within %v, %.1f KiB each", n, time.Since(began).Round(time.Millisecond),
			float64(u.MemoryBytes-r.result.Before.MemoryBytes)/1024/float64(n))
		for range 20 {
			if err := r.ledger.nc.Publish("soak.all", make([]byte, 100)); err != nil {
				return err
			}
		}
		wait(ctx, r.load.Length)
		return nil
	})
}

// storms has all clients come at once, and lose their connections at once, again and again.
func storms(ctx context.Context, r *rig) error {
	var all crowd
	defer all.leave(true)
	return r.beside(ctx, func(ctx context.Context) error {
		var longest time.Duration
		for i := range r.load.Storms {
			began := time.Now()
			err := all.joinAll(ctx, r.server.Config().Client, r.load.Clients, r.load.Clients, func(i int) string { return fmt.Sprintf("SUB soak.each.%d 1\r\n", i) })
			longest = max(longest, time.Since(began))
			if err != nil {
				r.violated("storm %d: some clients did not get in: %.200s", i+1, err)
				return nil
			}
			all.leave(true)
		}
		r.noted("%d storms of %d clients, all in within %v", r.load.Storms, r.load.Clients, longest.Round(time.Millisecond))
		return nil
	})
}
