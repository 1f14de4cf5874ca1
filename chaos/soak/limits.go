package soak

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"runnel/chaos/disk"
)

// roomBytes is how much the small disk has for the server.
const roomBytes = 768 << 20

// smallDisk has the server keep its streams on a small disk.
func smallDisk(r *rig) error {
	if err := disk.Mounting(); err != nil {
		return fmt.Errorf("a disk that is full: %w: %w", errNotRunnable, err)
	}
	// The server has not started yet, so there is nothing to be moved.
	dir := r.server.StoreDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var err error
	r.room, err = disk.NewRoom(dir, roomBytes)
	return err
}

// fullDisk fills the disk, publishes until that is refused, and makes room again.
func fullDisk(ctx context.Context, r *rig) error {
	if err := r.room.Fill(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	var refusal error
	if !until(limited, func() bool { refusal = r.ledger.some(limited, 1, 64<<10); return refusal != nil }) || limited.Err() != nil {
		r.noted("a full disk has refused nothing within %v", settleTime)
	} else {
		r.noted("refused with %q after %d messages", refusal, r.ledger.count())
	}
	// A server may refuse what it has no room for; it must still have, and show, what it has acknowledged.
	if found, err := r.ledger.missing(ctx); err != nil || len(found) > 0 {
		r.violated("while the disk is full, %d messages are missing, %v", len(found), err)
	}
	return r.room.Grow()
}

// fewFiles is how many files the server may have open in the scenario of descriptors.
const fewFiles = 96

// fewDescriptors has the server start with a small limit.
func fewDescriptors(r *rig) error {
	if _, err := exec.LookPath("sh"); err != nil {
		return fmt.Errorf("a limit of descriptors: %w: %w", errNotRunnable, err)
	}
	r.server.Wrap("sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, fewFiles))
	return nil
}

// descriptors has more clients come than can be accepted. The server must not spend its time with trying, and who is there goes on.
func descriptors(ctx context.Context, r *rig) error {
	var waiting []net.Conn
	defer func() {
		for _, c := range waiting {
			_ = c.Close() // nothing is expected of it
		}
	}()
	for range 3 * fewFiles {
		c, err := net.DialTimeout("tcp", r.server.Config().Client, answerTime)
		if err != nil {
			break // the system has no room for more that wait
		}
		waiting = append(waiting, c)
		if _, err := fmt.Fprint(c, "CONNECT {\"verbose\":false}\r\n"); err != nil { // or they would be sent away
			return err
		}
	}
	before, err := r.server.Figures()
	if err != nil {
		return err
	}
	wait(ctx, r.load.Length)
	after, err := r.server.Figures()
	if err != nil {
		return err
	}
	// One that tries to accept again at once, and fails again, would have one processor busy all the time.
	spent := after.CPU - before.CPU
	r.noted("%d descriptors of %d, %v of processor time within %v", after.Descriptors, fewFiles, spent, r.load.Length)
	if spent > r.load.Length/2 {
		r.violated("the server spent %v of processor time within %v on clients that it cannot accept", spent, r.load.Length)
	}
	if log := r.server.LogEnd(200); !strings.Contains(log, "too many open files") && !strings.Contains(log, "maximum connections exceeded") {
		r.violated("the server does not say that it has too many files open")
	}
	// Enough for the log to need another file.
	if err := r.ledger.some(ctx, 400, 64<<10); err != nil {
		r.noted("without descriptors a publish failed: %v", err)
	}
	return nil
}

// memory publishes more than the budget has room for, from many connections, to a stream and to subscribers that do not read.
func memory(ctx context.Context, r *rig) error {
	var mute crowd
	defer mute.leave(true)
	if err := mute.joinAll(ctx, r.server.Config().Client, r.load.Consumers, 64, func(int) string { return "SUB soak.core 1\r\n" }); err != nil {
		return err
	}
	publishing, stop := context.WithTimeout(ctx, r.load.Length)
	defer stop()
	var publishers sync.WaitGroup
	errs := make([]error, 9)
	for i := range errs[1:] {
		publishers.Go(func() { errs[i+1] = r.ledger.flood(publishing, 128, 256<<10) })
	}
	publishers.Go(func() { _, errs[0] = r.chatter(publishing) })
	began := time.Now()
	publishers.Wait()
	if err := errors.Join(errs...); err != nil {
		r.violated("publishers: %v", err)
	}
	r.noted("publishers had their answers after %v", time.Since(began).Round(time.Millisecond))
	return nil
}
