package soak

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// crowd are connections that speak no more of the protocol than they must, so that many are cheap.
type crowd struct {
	mu    sync.Mutex // guards conns
	conns []*net.TCPConn
}

// join opens a connection, says what is to be said, and waits until the server has heard it. A client that does not get in is gone.
func (c *crowd) join(address, say string) error {
	conn, err := net.DialTimeout("tcp", address, answerTime)
	if err != nil {
		return err
	}
	tcp := conn.(*net.TCPConn)
	if err := enter(tcp, say); err != nil {
		_ = tcp.Close() // nothing is expected of it
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, tcp)
	return nil
}

// enter says what a client has to say, and waits until the server has heard it.
func enter(conn *net.TCPConn, say string) error {
	// What the system would read for who does not read is not what this is about.
	if err := errors.Join(conn.SetReadBuffer(4<<10), conn.SetDeadline(time.Now().Add(startTime))); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "CONNECT {\"verbose\":false}\r\n%sPING\r\n", say); err != nil {
		return err
	}
	for lines := bufio.NewReaderSize(conn, 512); ; {
		line, err := lines.ReadString('\n')
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(line, "-ERR"):
			return errors.New(strings.TrimSpace(line))
		case strings.HasPrefix(line, "PONG"):
			return conn.SetDeadline(time.Time{})
		}
	}
}

// joinAgain is join for a client that comes again when it does not get in, as clients do.
func (c *crowd) joinAgain(ctx context.Context, address, say string) (err error) {
	limited, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	until(limited, func() bool {
		err = c.join(address, say)
		return err == nil
	})
	return err
}

// joinAll opens connections, some at the same time, each of which says what say returns for it.
func (c *crowd) joinAll(ctx context.Context, address string, n, together int, say func(i int) string) error {
	var joining sync.WaitGroup
	errs := make([]error, n)
	places := make(chan struct{}, together)
	for i := range n {
		places <- struct{}{}
		joining.Go(func() {
			errs[i] = c.joinAgain(ctx, address, say(i))
			<-places
		})
	}
	joining.Wait()
	return errors.Join(errs...)
}

// leave closes all connections; reset has the server learn of it as of the death of a client.
func (c *crowd) leave(reset bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		if reset {
			_ = conn.SetLinger(0) // it fails only for one that is closed
		}
		_ = conn.Close() // likewise
	}
	c.conns = nil
}
