package setting_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/setting"
)

func TestEach(t *testing.T) {
	wrong := errors.New("no")
	for text, want := range map[string]string{
		"":              `"" has no value; write name=value, where the names are a, b`,
		"a=1":           "[a:1]",
		" a = 1 ,b=2=3": "[a:1 b:2=3]",
		"a=":            "[a:]",
		"a":             `"a" has no value; write name=value, where the names are a, b`,
		"a=1,":          `"" has no value; write name=value, where the names are a, b`,
		"a=1,a=2":       "a is there twice",
		"bad=1":         "bad: no",
	} {
		var got []string
		err := setting.Each(text, "a, b", func(name, value string) error {
			got = append(got, name+":"+value)
			if name == "bad" {
				return wrong
			}
			return nil
		})
		if err == nil && fmt.Sprint(got) != want || err != nil && err.Error() != want {
			t.Errorf("%q: got %v, %v, want %s", text, got, err, want)
		}
	}
}

func TestFits(t *testing.T) {
	if err := setting.Fits(strings.Repeat("a", setting.MaxBytes)); err != nil {
		t.Error(err)
	}
	if err := setting.Fits(strings.Repeat("a", setting.MaxBytes+1)); err == nil || err.Error() != "it has 257 bytes, at most 256 are allowed" {
		t.Errorf("got %v", err)
	}
}

func TestDuration(t *testing.T) {
	for value, want := range map[string]time.Duration{"1s": time.Second, "90s": 90 * time.Second, "1h": time.Hour, "999ms": 0, "61m": 0, "": 0, "5": 0} {
		d, err := setting.Duration(value, time.Second, time.Hour)
		if d != want || (err == nil) != (want != 0) || err != nil && !strings.Contains(err.Error(), "from 1s to 1h") {
			t.Errorf("%q: got %v, %v, want %v", value, d, err, want)
		}
	}
	for d, want := range map[time.Duration]string{5 * time.Minute: "5m", time.Hour: "1h", 90 * time.Second: "1m30s", 3660 * time.Second: "1h1m", 10 * time.Second: "10s"} {
		if got := setting.Short(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}
