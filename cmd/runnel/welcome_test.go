package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"runnel/server"
	"runnel/server/logs"
)

func TestWelcome(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ports server.Ports
		where string
	}{
		{"on a network", server.Ports{NATS: []string{"nats://10.0.0.5:4222", "nats://10.0.0.6:4222"}}, "nats://localhost:4222, from elsewhere nats://10.0.0.5:4222"},
		{"on a network of today", server.Ports{NATS: []string{"nats://[2001:db8::1]:4222"}}, "nats://localhost:4222, from elsewhere nats://[2001:db8::1]:4222"},
		{"alone", server.Ports{NATS: []string{"nats://127.0.0.1:4333"}}, "nats://localhost:4333"},
		{"without a listener", server.Ports{}, "no port"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := welcome(&out, tt.ports, "some-data"); err != nil {
				t.Fatal(err)
			}
			data, err := filepath.Abs("some-data")
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"connect to    " + tt.where + "\n", "kept in   " + data + "\n", "on the disk", "nats stream add", "runnel -h"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, out.String())
				}
			}
		})
	}
}

// brokenPipe is an output whose reader has gone.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWelcomeNobody(t *testing.T) {
	if err := welcome(brokenPipe{}, server.Ports{}, "x"); err == nil {
		t.Error("got no error")
	}
}

// Only a start without a single argument is welcomed, and that when the server
// is ready. The server ends as soon as it has written.
func TestWelcomeWhenReady(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no argument", nil, "Clients connect to"},
		{"a flag", []string{"-T=false"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parseCommandLine(tt.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			o, err := c.options()
			if err != nil {
				t.Fatal(err)
			}
			o.Host, o.Port = "127.0.0.1", -1
			if o.JetStream != nil {
				o.JetStream.StoreDir = t.TempDir()
			}
			var stdout, stderr bytes.Buffer
			log, err := logs.Open(logConfig(o, &stderr))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel() // it serves until somebody ends it, who has done so already
			if code := serve(ctx, c, o, log, &stdout, &stderr); code != 0 {
				t.Errorf("got exit code %d, want 0: %s", code, stderr.String())
			}
			if got := stdout.String(); !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
