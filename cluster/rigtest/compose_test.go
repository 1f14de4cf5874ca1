package rigtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"runnel/conf"
)

// compose is the folder of the example.
const compose = "../../docs/examples"

// TestCompose: the config files of the compose example are those of one cluster, and the services give each of them what it
// speaks of.
func TestCompose(t *testing.T) {
	services, err := os.ReadFile(filepath.Join(compose, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		name := fmt.Sprintf("n%d", i+1)
		t.Run(name, func(t *testing.T) {
			o, err := conf.ParseFile(filepath.Join(compose, "compose", name+".conf"))
			if err != nil {
				t.Fatal(err)
			}
			if len(o.Warnings) > 0 {
				t.Errorf("got warnings %v, want an example to be without", o.Warnings)
			}
			if o.ServerName != name {
				t.Errorf("the server's name is %q, want %q", o.ServerName, name)
			}
			port := 4222 + i
			if want := fmt.Sprintf("localhost:%d", port); o.ClientAdvertise != want {
				t.Errorf("clients are told %q, want %q", o.ClientAdvertise, want)
			}
			if o.JetStream == nil || o.JetStream.StoreDir != "/data" {
				t.Errorf("streams are not in the volume: %+v", o.JetStream)
			}
			checkMembers(t, o.Cluster)
			for _, want := range []string{
				fmt.Sprintf("\n  %s:\n    <<: *server\n", name),
				fmt.Sprintf("%d:%d", port, o.Port),
				fmt.Sprintf("%d:%d", 8222+i, o.Monitor.Port),
				fmt.Sprintf("./compose/%s.conf:/server.conf:ro", name),
				fmt.Sprintf("%s:%s\"", name, o.JetStream.StoreDir),
			} {
				if !strings.Contains(string(services), want) {
					t.Errorf("compose.yaml does not have %q", want)
				}
			}
		})
	}
}

// checkMembers wants routes to all three servers, as the user that they let in.
func checkMembers(t *testing.T, c *conf.Cluster) {
	t.Helper()
	if c == nil || c.Name != "example" {
		t.Fatalf("got cluster %+v, want the one of the example", c)
	}
	if !strings.HasPrefix(c.Authorization.Password, "$2a$") {
		t.Errorf("the password %q is no hash", c.Authorization.Password)
	}
	var want []string
	for i := range 3 {
		want = append(want, fmt.Sprintf("nats-route://%s:together@n%d:%d", c.Authorization.Username, i+1, c.Port))
	}
	if !slices.Equal(c.Routes, want) {
		t.Errorf("got routes %q, want %q", c.Routes, want)
	}
}
