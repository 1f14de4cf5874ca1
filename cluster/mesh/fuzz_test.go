package mesh_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runnel/cluster/mesh"
)

// script is a connection that gives its bytes in pieces and then ends.
type script struct {
	net.Conn
	data  []byte
	piece int
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.piece)], s.data)
	s.data = s.data[n:]
	return n, nil
}

// frames is what a dialler sends: the magic bytes and these bodies.
func frames(bodies ...string) []byte {
	b := []byte("RUNNEL1\n")
	for _, body := range bodies {
		b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
		b = append(b, body...)
	}
	return b
}

const (
	someHello = `{"hello":{"member":{"id":"ID-z","name":"z","cluster":"c","start":"2020-01-01T00:00:00Z","route_url":"z:1"},` +
		`"username":"u","password":"p","offer":{"pool":2,"accounts":["A"],"raft":true,"compression":"s2_auto"}}}`
	someState = `{"state":{"self":{"id":"ID-z","name":"z","cluster":"c"},"members":[{"id":"ID-y","name":"y","cluster":"c","route_url":"y:1"}]}}`
)

func addSeeds(f *testing.F) {
	for _, b := range [][]byte{
		nil,
		frames(someHello, `{"have":7}`, `{"ready":true}`, someState, `{"ping":1}`, `{"pong":1}`, `{"bye":{"reason":"x","leaving":true}}`),
		frames(someHello, `{"have":7}`, `{"ready":true}`, someState, strings.Replace(someState, `"c"`, `"other"`, 1)),
		frames(strings.Replace(someHello, "ID-z", "ID-a", 1), `{"decision":{"session":1,"token":"t"}}`, `{"ping":1}`),
		frames(`{"link":{"id":"ID-z","session":1,"token":"t","slot":{"kind":1}}}`),
		frames(`{"refused":{"code":"cluster","text":"no\n"}}`),
		frames(`{}`, `null`, `[]`),
		[]byte("RUNNEL1\n\xff\xff\xff\xff"),
		[]byte("CONNECT {}\r\nPING\r\n"),
		[]byte("\x16\x03\x01"),
	} {
		f.Add(b)
	}
}

// FuzzHandshake reads frames in pieces of all sizes: what is read does not depend on how it comes.
func FuzzHandshake(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, wholeErr := mesh.ReadHandshake(&script{data: data, piece: len(data) + 1})
		pieces, piecesErr := mesh.ReadHandshake(&script{data: data, piece: 1})
		if whole != pieces || wholeErr.Error() != piecesErr.Error() {
			t.Errorf("got %d frames and %v whole, %d and %v in pieces", whole, wholeErr, pieces, piecesErr)
		}
	})
}

// FuzzAccept lets a stranger say anything to a server that has a member already. It must lose neither itself nor
// that one, and be done with the stranger when it ends.
func FuzzAccept(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) {
			n := newNetwork()
			b, c := start(t, config(n, "b")), start(t, config(n, "c", "b:1"))
			synctest.Wait()
			conn, err := n.dialer("x")(t.Context(), "b:1")
			if err != nil {
				t.Fatal(err)
			}
			go io.Copy(io.Discard, conn)
			_, err = conn.Write(data)
			if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !strings.Contains(err.Error(), "broken pipe") {
				t.Fatal(err)
			}
			conn.Close()
			after(10 * time.Second)
			if got := b.names(); got != "c" {
				t.Errorf("b has the members %q, want c", got)
			}
			b.close()
			c.close()
		})
	})
}
