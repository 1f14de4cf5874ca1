package retry_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"runnel/jetlog/retry"
)

func parse(t testing.TB, text string) retry.Policy {
	t.Helper()
	p, err := retry.Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return p
}

func TestString(t *testing.T) {
	tests := map[string]string{
		"exponential": "exponential,min=1s,max=5m,factor=2,jitter=0.2",
		"exponential,min=1s,max=5m,factor=2,jitter=0.2":                                  "exponential,min=1s,max=5m,factor=2,jitter=0.2",
		" exponential , max = 1h , min=250ms, factor=1.50,jitter=0,total=90m,attempts=7": "exponential,min=250ms,max=1h,factor=1.5,jitter=0,attempts=7,total=1h30m",
		"exponential,min=720h,max=720h,factor=100.000,jitter=1":                          "exponential,min=720h,max=720h,factor=100,jitter=1",
		"exponential,factor=1.125,jitter=.5":                                             "",
		"fixed,delay=30s":                                                                "fixed,delay=30s,jitter=0",
		"fixed,total=8760h,jitter=0.125,delay=1ms,attempts=1000000":                      "fixed,delay=1ms,jitter=0.125,attempts=1000000,total=8760h",
		"fixed,delay=1h0m10s":                                                            "fixed,delay=1h0m10s,jitter=0",
	}
	for text, want := range tests {
		p, err := retry.Parse(text)
		if want == "" {
			if err == nil {
				t.Errorf("%q is %q, want an error", text, p)
			}
			continue
		}
		if err != nil || p.String() != want {
			t.Errorf("%q is %q, %v, want %q", text, p, err, want)
		}
		if again := parse(t, p.String()); again != p {
			t.Errorf("%q is read again as %q", p, again)
		}
	}
}

func TestErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", `it begins with ""; write exponential,min=1s,max=5m or fixed,delay=30s`},
		{"linear,min=1s", `it begins with "linear"`},
		{"exponential,", `"" has no value; write name=value, where the names are min, max, factor, jitter, attempts, total`},
		{"fixed,30s", `"30s" has no value; write name=value, where the names are delay, jitter, attempts, total`},
		{"exponential,min=1s,min=2s", "min is there twice"},
		{"exponential,delay=1s", "delay: there is no such setting for exponential; there are min, max,"},
		{"fixed,delay=1s,max=5s", "max: there is no such setting for fixed; there are delay, jitter,"},
		{"exponential,min=1", `min: needs a duration from 1ms to 720h, such as 500ms, 30s, 5m or 1h; got "1"`},
		{"exponential,min=0s", "min: needs a duration from 1ms"},
		{"exponential,max=-5s", "max: needs a duration from 1ms"},
		{"exponential,max=721h", "max: needs a duration from 1ms to 720h"},
		{"exponential,min=10m", "min=10m is longer than max=5m"},
		{"exponential,factor=1", `factor: needs a number from 1.1 to 100 with at most three decimals; got "1"`},
		{"exponential,factor=100.001", "factor: needs a number"},
		{"exponential,factor=1.2345", "factor: needs a number"},
		{"exponential,factor=2.", "factor: needs a number"},
		{"exponential,factor=+2", "factor: needs a number"},
		{"exponential,factor=1e2", "factor: needs a number"},
		{"exponential,factor=NaN", "factor: needs a number"},
		{"exponential,factor=99999999999999999999", "factor: needs a number"},
		{"exponential,jitter=-0.1", "jitter: needs a number from 0 to 1"},
		{"exponential,jitter=1.001", "jitter: needs a number from 0 to 1"},
		{"exponential,attempts=0", `attempts: needs a whole number from 1 to 1000000; got "0"`},
		{"exponential,attempts=1000001", "attempts: needs a whole number"},
		{"exponential,attempts=x", "attempts: needs a whole number"},
		{"exponential,total=8761h", "total: needs a duration from 1ms to 8760h"},
		{"exponential,total=500ms", "total=500ms ends before the first delay of 1s; to deliver once only, write attempts=1"},
		{"fixed", "fixed needs a delay; write fixed,delay=30s"},
		{"fixed," + strings.Repeat("x", 300), "it has 306 bytes, at most 256 are allowed"},
	}
	for _, tt := range tests {
		p, err := retry.Parse(tt.text)
		if err == nil || !errors.Is(err, retry.ErrPolicy) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60q: policy %q, error %v, want an error with %q", tt.text, p, err, tt.want)
		}
	}
}

func TestDelayWithoutJitter(t *testing.T) {
	p := parse(t, "exponential,min=1s,max=1m,factor=2.5,jitter=0")
	for i, want := range []time.Duration{
		time.Second, time.Second, 2500 * time.Millisecond, 6250 * time.Millisecond, 15625 * time.Millisecond, 39062500 * time.Microsecond,
		time.Minute, time.Minute,
	} {
		if got := p.Delay(i, 42); got != want {
			t.Errorf("delay after attempt %d: %v, want %v", i, got, want)
		}
	}
	if got := p.Delay(math.MaxInt, 0); got != time.Minute {
		t.Errorf("delay after very many attempts: %v, want 1m", got)
	}
	if got := parse(t, "fixed,delay=7s").Delay(1000, 5); got != 7*time.Second {
		t.Errorf("fixed delay: %v, want 7s", got)
	}
	if got := parse(t, "exponential,min=720h,max=720h,factor=100,jitter=1").Delay(9, 9); got != 720*time.Hour {
		t.Errorf("longest delay: %v, want 720h", got)
	}
}

// TestJitter: delays are spread over all of the range around them, never outside of the limits, also at the ends.
func TestJitter(t *testing.T) {
	tests := []struct {
		policy   string
		attempt  int
		from, to time.Duration
	}{
		{"exponential,min=1s,max=100s,factor=10,jitter=0.2", 2, 8 * time.Second, 12 * time.Second},
		{"exponential,min=1s,max=100s,factor=10,jitter=0.2", 1, time.Second, 1400 * time.Millisecond},
		{"exponential,min=1s,max=100s,factor=10,jitter=0.2", 3, 60 * time.Second, 100 * time.Second},
		{"exponential,min=1s,max=100s,factor=10,jitter=1", 2, time.Second, 20 * time.Second},
		{"exponential,min=10s,max=11s,factor=2,jitter=1", 5, 10 * time.Second, 11 * time.Second},
		{"fixed,delay=10s,jitter=0.5", 5, 5 * time.Second, 15 * time.Second},
		{"fixed,delay=10s,jitter=1", 5, 0, 20 * time.Second},
	}
	for _, tt := range tests {
		p := parse(t, tt.policy)
		if tt.attempt == 2 && strings.Contains(tt.policy, "jitter=1") {
			tt.to = 21 * time.Second // the range moves up by what would be below min
		}
		least, most, sum := time.Duration(math.MaxInt64), time.Duration(0), time.Duration(0)
		const n = 10_000
		for seed := range uint64(n) {
			d := p.Delay(tt.attempt, seed)
			least, most, sum = min(least, d), max(most, d), sum+d
		}
		width := tt.to - tt.from
		if least < tt.from || most > tt.to || least > tt.from+width/100 || most < tt.to-width/100 {
			t.Errorf("%s, attempt %d: from %v to %v, want from %v to %v", tt.policy, tt.attempt, least, most, tt.from, tt.to)
		}
		if mean := sum / n; (mean - tt.from - width/2).Abs() > width/50 {
			t.Errorf("%s, attempt %d: %v on average, want the middle of %v and %v", tt.policy, tt.attempt, mean, tt.from, tt.to)
		}
	}
}

// TestSame: these delays must stay as they are in all later versions, since replicas of different versions must
// agree.
func TestSame(t *testing.T) {
	p := parse(t, "exponential,min=1s,max=5m,factor=2,jitter=0.2")
	var got []string
	for _, seed := range []uint64{0, 1, 4711, math.MaxUint64} {
		for _, attempt := range []int{1, 2, 20} {
			got = append(got, p.Delay(attempt, seed).String())
		}
	}
	want := "1.01360468s 2.274372409s 3m59.218831308s 1.365608986s 2.190159402s 4m15.308378774s " +
		"1.02407823s 1.923387947s 4m5.159253039s 1.163104951s 1.855274836s 3m53.884547552s"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("delays are\n%s, want\n%s", text, want)
	}
}

func TestExhausted(t *testing.T) {
	tests := []struct {
		policy  string
		attempt int
		since   time.Duration
		want    bool
	}{
		{"exponential", math.MaxInt, math.MaxInt64, false},
		{"exponential,attempts=3", 2, math.MaxInt64, false},
		{"exponential,attempts=3", 3, 0, true},
		{"exponential,attempts=3", 4, 0, true},
		{"fixed,delay=1s,attempts=1", 1, 0, true},
		{"exponential,total=1h", 1000, time.Hour - 1, false},
		{"exponential,total=1h", 1, time.Hour, true},
		{"exponential,total=1h,attempts=3", 3, time.Minute, true},
		{"exponential,total=1h,attempts=3", 2, 2 * time.Hour, true},
		{"exponential,total=1h,attempts=3", 2, -time.Hour, false},
	}
	for _, tt := range tests {
		if got := parse(t, tt.policy).Exhausted(tt.attempt, tt.since); got != tt.want {
			t.Errorf("%s after %d attempts in %v: exhausted %v, want %v", tt.policy, tt.attempt, tt.since, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"exponential,min=1s,max=5m,factor=2,jitter=0.2,attempts=10,total=1h", "fixed,delay=30s,jitter=0.125", "exponential", "fixed,,=",
		"exponential,factor=1.1,min=1ms,max=720h,jitter=1",
	} {
		f.Add(seed, 3, uint64(7))
	}
	f.Fuzz(func(t *testing.T, text string, attempt int, seed uint64) {
		p, err := retry.Parse(text)
		if err != nil {
			if !errors.Is(err, retry.ErrPolicy) {
				t.Fatalf("error %v", err)
			}
			return
		}
		again, err := retry.Parse(p.String())
		if err != nil || again != p {
			t.Fatalf("%q is written as %q, which is %q, %v", text, p, again, err)
		}
		if d := p.Delay(attempt, seed); d < 0 || d > 2*720*time.Hour {
			t.Fatalf("%q: delay %v after attempt %d", text, d, attempt)
		}
	})
}

func BenchmarkDelay(b *testing.B) {
	p := parse(b, "exponential,min=1ms,max=720h,factor=1.1")
	b.ReportAllocs()
	for b.Loop() {
		p.Delay(1000, 4711)
	}
}

func ExamplePolicy_Delay() {
	policy, err := retry.Parse("exponential,min=1s,max=10s,jitter=0,attempts=6")
	if err != nil {
		fmt.Println(err)
		return
	}
	for attempt := 1; !policy.Exhausted(attempt, 0); attempt++ {
		fmt.Println(attempt, policy.Delay(attempt, 4711))
	}
	// Output:
	// 1 1s
	// 2 2s
	// 3 4s
	// 4 8s
	// 5 10s
}

func ExampleParse() {
	policy, err := retry.Parse("exponential,max=1h,attempts=10")
	fmt.Println(policy, err)
	_, err = retry.Parse("exponential,max=1d")
	fmt.Println(err)
	// Output:
	// exponential,min=1s,max=1h,factor=2,jitter=0.2,attempts=10 <nil>
	// not a retry policy: max: needs a duration from 1ms to 720h, such as 500ms, 30s, 5m or 1h; got "1d"
}
