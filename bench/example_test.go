package bench_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"runnel/bench"
	"runnel/bench/verify"
)

// A scenario against a server that is running, as a table on the standard
// output. Ctrl-C or a deadline give a partial result.
func ExampleCase_Run() {
	cases, err := bench.Core().Select([]string{"pubsub-128", "request"}, bench.Overrides{Scale: 0.1})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	target := bench.Target{URL: bench.DefaultURL, Verify: true, Progress: os.Stderr}
	var results []bench.Result
	for _, c := range cases {
		results = append(results, c.Run(ctx, target))
	}
	if err := bench.WriteResults(os.Stdout, bench.Human, results); err != nil {
		fmt.Println(err)
	}
}

// Two servers in alternation, and a threshold for the costs of the second.
func ExampleComparison_Run() {
	cases, err := bench.Core().Select([]string{"all"}, bench.Overrides{})
	if err != nil {
		fmt.Println(err)
		return
	}
	compared := bench.Comparison{
		A:      "nats-server -a 127.0.0.1 -p {port}",
		B:      "runnel -a 127.0.0.1 -p {port}",
		Cases:  cases,
		Rounds: 5,
		Target: bench.Target{Verify: true},
	}.Run(context.Background())
	for _, line := range compared.Above(0.5) {
		fmt.Println(line)
	}
}

func ExampleSuite_Select() {
	cases, err := bench.Core().Select([]string{"fanout*", "queue"}, bench.Overrides{
		Params: bench.Params{Subscribers: 4},
		Sizes:  []int{64},
	})
	fmt.Println(err)
	for _, c := range cases {
		fmt.Println(c.Name, c.Params.Messages)
	}
	_, err = bench.Core().Select([]string{"fanfare"}, bench.Overrides{})
	fmt.Println(err)
	// Output:
	// <nil>
	// fanout4-64 500000
	// queue4-64 1000000
	// unknown scenario "fanfare": `runnel bench list` shows all
}

func ExampleVerifier() {
	// Publisher 7 sent four messages; this subscription is to get every other.
	v := verify.NewVerifier("subscriber", verify.Lane{Publisher: 7, Stride: 2})
	payload := verify.NewPayload(16, 7)
	v.Observe(payload.Stamped(0, 0))
	v.Observe(payload.Stamped(1, 0))
	v.Observe(payload.Stamped(0, 0))
	tally := verify.Settle(map[uint32]uint64{7: 4}, v)
	fmt.Println(tally.OK())
	for _, note := range tally.Notes {
		fmt.Println(note)
	}
	// Output:
	// false
	// subscriber: publisher 7: sequence 1 does not belong here
	// subscriber: publisher 7: sequence 0 again
	// subscriber: publisher 7: 1 lost, the first is sequence 2
}

func ExampleNewRatio() {
	ratio, _ := bench.NewRatio([]float64{10, 40, 12}, []float64{5, 10, 6})
	fmt.Printf("%.2f [%.2f-%.2f] of %d rounds\n", ratio.Median, ratio.Min, ratio.Max, ratio.Rounds)
	// Output:
	// 0.50 [0.25-0.50] of 3 rounds
}
