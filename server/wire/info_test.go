package wire_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"runnel/server/wire"
)

func TestParseConnect(t *testing.T) {
	type change func(c *wire.Connect)
	tests := []struct {
		name, in string
		want     change
	}{
		{"defaults", `{}`, func(*wire.Connect) {}},
		{"null", `null`, func(*wire.Connect) {}},
		{"unknown members", `{"foo":{"bar":[1]},"import":{}}`, func(*wire.Connect) {}},
		{"null members keep defaults", `{"verbose":null,"user":null}`, func(*wire.Connect) {}},
		{"switches off", `{"verbose":false,"pedantic":false,"echo":false}`, func(c *wire.Connect) {
			c.Verbose, c.Pedantic, c.Echo = false, false, false
		}},
		{"all", `{"tls_required":true,"name":"n","lang":"l","version":"v","protocol":1,"headers":true,"no_responders":true,` +
			`"user":"u","pass":"p","auth_token":"t","nkey":"k","sig":"s","jwt":"j","account":"a","new_account":true}`, func(c *wire.Connect) {
			c.TLSRequired, c.Name, c.Lang, c.Version, c.Protocol = true, "n", "l", "v", 1
			c.Headers, c.NoResponders = true, true
			c.User, c.Password, c.Token, c.NKey, c.Signature, c.JWT = "u", "p", "t", "k", "s", "j"
			c.Account, c.NewAccount = "a", true
		}},
		{"blanks", " { \"user\" : \"u\" } ", func(c *wire.Connect) { c.User = "u" }},
		{"the last of two counts", `{"user":"a","user":"b"}`, func(c *wire.Connect) { c.User = "b" }},
		{"escapes", `{"user":"\u0061\n"}`, func(c *wire.Connect) { c.User = "a\n" }},
		{"protocol that nobody speaks", `{"protocol":-7}`, func(c *wire.Connect) { c.Protocol = -7 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := wire.DefaultConnect()
			tt.want(&want)
			got, err := wire.ParseConnect([]byte(tt.in))
			if err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
	if d := wire.DefaultConnect(); !d.Verbose || !d.Pedantic || !d.Echo {
		t.Errorf("defaults = %+v, want verbose, pedantic and echo", d)
	}
}

// TestParseConnectErrors has a secret in every malformed text, which no error may show.
func TestParseConnectErrors(t *testing.T) {
	for _, in := range []string{
		``, `{`, `[]`, `hunter2`, `"hunter2"`, `{"pass":"hunter2"`, `{"pass":"hunter2"}}`, `{"pass":"hunter2"} x`, `{pass:hunter2}`,
		`{"pass":hunter2}`, `{"pass":["hunter2"]}`, `{"pass":{"hunter2":1}}`, `{"hunter2"}`, `{"verbose":"hunter2"}`, `{"protocol":"hunter2"}`,
		`{"pass":"hunter2","protocol":1.5}`, `{"pass":"hunter2","protocol":1e99}`, `{"pass":20252026}`, `{"user":1}`, `{"hunter2":1,"name":1}`,
		"{\"pass\":\"hunter2\n\"}", `{"pass":"hunter2\x"}`, strings.Repeat("[", 5000), `20252026`,
	} {
		_, err := wire.ParseConnect([]byte(in))
		switch {
		case err == nil:
			t.Errorf("%.60q: no error", in)
		case strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "2025"):
			t.Errorf("%.60q: the error shows the secret: %v", in, err)
		case !strings.HasPrefix(err.Error(), "malformed CONNECT: "):
			t.Errorf("%.60q: error = %q, want one that names CONNECT", in, err)
		}
	}
}

// TestParseConnectKeepsNothing: the caller's buffer is reused after the call.
func TestParseConnectKeepsNothing(t *testing.T) {
	text := []byte(`{"user":"alice","name":"n"}`)
	c, err := wire.ParseConnect(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		text[i] = 'x'
	}
	if c.User != "alice" || c.Name != "n" {
		t.Errorf("after the buffer changed: user %q name %q", c.User, c.Name)
	}
}

func TestInfoAppend(t *testing.T) {
	i := wire.Info{
		ServerID: "N1", ServerName: "s", Version: "2.15.0", Proto: 1, Go: "go1", Host: "0.0.0.0", Port: 4222,
		Headers: true, MaxPayload: 1048576, ClientID: 7, ClientIP: "127.0.0.1",
	}
	want := `INFO {"server_id":"N1","server_name":"s","version":"2.15.0","proto":1,"go":"go1","host":"0.0.0.0","port":4222,` +
		`"headers":true,"max_payload":1048576,"client_id":7,"client_ip":"127.0.0.1"} ` + "\r\n"
	if got := string(i.Append([]byte("before"))); got != "before"+want {
		t.Errorf("got  %s\nwant before%s", got, want)
	}
	// What must always be there is, even if it is nothing.
	var none wire.Info
	for _, field := range []string{"server_id", "server_name", "version", "proto", "go", "host", "port", "headers", "max_payload"} {
		if got := string(none.Append(nil)); !strings.Contains(got, `"`+field+`":`) {
			t.Errorf("%s is missing from %s", field, got)
		}
	}
}

// TestInfoRoundTrip fills every field: each must come back under a name of its own, on one line.
func TestInfoRoundTrip(t *testing.T) {
	var i wire.Info
	v := reflect.ValueOf(&i).Elem()
	for n := range v.NumField() {
		switch f := v.Field(n); f.Kind() {
		case reflect.String:
			f.SetString("line\r\nend '<" + v.Type().Field(n).Name + ">")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int:
			f.SetInt(int64(n + 1))
		case reflect.Uint64:
			f.SetUint(uint64(n + 1))
		case reflect.Slice:
			f.Set(reflect.ValueOf([]string{"a:1", "b:2"}))
		default:
			t.Fatalf("field %s has a kind that this test does not know", v.Type().Field(n).Name)
		}
	}
	line := string(i.Append(nil))
	text, ok := strings.CutSuffix(line, " \r\n")
	if !ok || strings.ContainsAny(text, "\r\n") {
		t.Fatalf("not one line: %q", line)
	}
	var back wire.Info
	if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "INFO ")), &back); err != nil || !reflect.DeepEqual(back, i) {
		t.Errorf("came back as %+v, %v\nwant %+v", back, err, i)
	}
}

func TestAppendErr(t *testing.T) {
	for text, want := range map[string]string{
		"Stale Connection":        "-ERR 'Stale Connection'\r\n",
		"":                        "-ERR ''\r\n",
		"a\r\nPING\r\n":           "-ERR 'a  PING  '\r\n",
		"to \"a\nb\"":             "-ERR 'to \"a b\"'\r\n",
		"subject é of 'somebody'": "-ERR 'subject é of 'somebody''\r\n",
	} {
		if got := string(wire.AppendErr([]byte("x\r\n"), text)); got != "x\r\n"+want {
			t.Errorf("%q: got %q, want %q behind what was there", text, got, want)
		}
	}
}
