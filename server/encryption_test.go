package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"

	"runnel/server"
	"runnel/server/servertest"
)

// TestEncryptionKeys restarts a server with other keys: the one before still reads, a new one or none writes, and who
// has no key that fits is told so and breaks nothing.
func TestEncryptionKeys(t *testing.T) {
	for _, tt := range []struct{ name, first, then string }{
		{"a new key with another cipher", "key: one, cipher: aes", "key: two, prev_key: one"},
		{"encryption ends", "key: one", "prev_key: one"},
		{"encryption begins", "strict: true", "key: one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			withStore(t, dir, tt.first, func(js nats.JetStreamContext) {
				if _, err := js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
					t.Fatal(err)
				}
				publish(t, js, "a secret")
			})
			if found, encrypted := holds(t, dir, "a secret"), tt.first != "strict: true"; found == encrypted {
				t.Errorf("the disk shows what was published: %v, want %v", found, !encrypted)
			}
			if tt.first == "key: one" {
				o := servertest.Options(t, storeBlock(dir, "key: wrong"))
				if s, err := server.Open(o, nil); err == nil {
					t.Errorf("opened with a wrong key")
					_ = s.Close()
				}
			}
			withStore(t, dir, tt.then, func(js nats.JetStreamContext) {
				publish(t, js, "another")
				for seq, want := range map[uint64]string{1: "a secret", 2: "another"} {
					if m, err := js.GetMsg("S", seq); err != nil || string(m.Data) != want {
						t.Errorf("message %d: got %v, %v, want %q", seq, m, err, want)
					}
				}
			})
		})
	}
}

func storeBlock(dir, keys string) string {
	return fmt.Sprintf("listen: \"127.0.0.1:-1\"\njetstream { store_dir: %q, %s }", dir, keys)
}

// withStore runs a server over a folder, as long as the function takes.
func withStore(t *testing.T, dir, keys string, do func(nats.JetStreamContext)) {
	t.Helper()
	s := servertest.Start(t, storeBlock(dir, keys))
	nc := servertest.Connect(t, s)
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	do(js)
	nc.Close()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func publish(t *testing.T, js nats.JetStreamContext, text string) {
	t.Helper()
	if _, err := js.Publish("s", []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// holds reports whether any file below a folder has the text in it.
func holds(t *testing.T, dir, text string) (found bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found = found || bytes.Contains(content, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
