package backup_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"

	"runnel/server/jetstream/backup"
)

var update = flag.Bool("update", false, "write the expected texts anew")

// describe reads a backup and puts what is in it into words.
func describe(r io.Reader) (string, error) {
	b, err := backup.NewReader(r)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "version %d\n", b.Version())
	for {
		e, err := b.Next()
		if errors.Is(err, io.EOF) {
			return out.String(), nil
		}
		if err != nil {
			return out.String(), err
		}
		switch {
		case e.State != nil:
			fmt.Fprintf(&out, "state %+v\n", *e.State)
		case e.Consumer != nil:
			describeConsumer(&out, e.Consumer)
		default:
			m := e.Message
			fmt.Fprintf(&out, "message %d at %d on %s: %q %q\n", m.Sequence, m.Time, m.Subject, m.Header, m.Payload)
		}
	}
}

func describeConsumer(out io.Writer, c *backup.Consumer) {
	k := &c.Config
	ack, _ := k.Ack.MarshalText()
	deliver, _ := k.Deliver.MarshalText()
	fmt.Fprintf(out, "consumer %s durable %q deliver %s ack %s wait %v max %d to %q filters %q paused %v metadata %v\n",
		k.Name, k.Durable, deliver, ack, k.AckWait, k.MaxDeliver, k.DeliverSubject, k.Filters(), k.PauseUntil, k.Metadata)
	fmt.Fprintf(out, "  %+v\n", c.State) // fmt prints maps in the order of their keys
}

// goldens are backups that nats-server has made, of the versions in their names.
func goldens(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.s2")
	if err != nil || len(files) == 0 {
		t.Fatalf("no backups in testdata: %v", err)
	}
	return files
}

func TestGoldens(t *testing.T) {
	for _, file := range goldens(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := describe(bytes.NewReader(data))
			if err != nil {
				t.Fatalf("read: %v, after\n%s", err, got)
			}
			expected := strings.TrimSuffix(file, ".s2") + ".txt"
			if *update {
				if err := os.WriteFile(expected, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(expected)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// content is what is compressed in a golden backup.
func content(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(s2.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// compressed makes a backup of a content.
func compressed(t testing.TB, parts ...[]byte) *bytes.Reader {
	t.Helper()
	var out bytes.Buffer
	w := s2.NewWriter(&out)
	if _, err := w.Write(slices.Concat(parts...)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(out.Bytes())
}
