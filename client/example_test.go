package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"runnel/client"
	"runnel/conf"
	"runnel/server"
)

// embedded runs a server inside the example, with a stream ORDERS and a consumer billing.
func embedded() (js jetstream.JetStream, stop func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	options, err := conf.Parse("embedded", fmt.Appendf(nil, "listen: '127.0.0.1:-1', jetstream { store_dir: %q }", dir))
	if err != nil {
		log.Fatal(err)
	}
	s, err := server.Open(options, slog.New(slog.DiscardHandler))
	if err != nil {
		log.Fatal(err)
	}
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		log.Fatal(err)
	}
	if js, err = jetstream.New(nc); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for _, stream := range []string{"orders", "bills"} {
		if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: stream, Subjects: []string{stream + ".>"}}); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := js.CreateConsumer(ctx, "orders", jetstream.ConsumerConfig{Durable: "billing", AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
		log.Fatal(err)
	}
	return js, func() {
		nc.Close()
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := errors.Join(s.Shutdown(ctx), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}

// publish publishes orders.
func publish(js jetstream.JetStream, orders ...string) {
	for _, o := range orders {
		if _, err := js.Publish(context.Background(), "orders.new", []byte(o)); err != nil {
			log.Fatal(err)
		}
	}
}

// Orders are read as JSON. One cannot be read, and one fails at first.
func ExampleProcess() {
	js, stop := embedded()
	defer stop()
	publish(js, `{"Item":"tea","Units":2}`, `two teas`, `{"Item":"milk","Units":1}`)

	type order struct {
		Item  string
		Units int
	}
	ctx, end := context.WithCancel(context.Background())
	err := client.Process(ctx, js, client.Work[order]{
		Stream: "orders", Consumer: "billing", Workers: 1,
		Handle: func(_ context.Context, m *client.Message[order]) error {
			if m.Value.Item == "milk" && m.Deliveries == 1 {
				return client.RetryIn(10*time.Millisecond, errors.New("no price yet"))
			}
			fmt.Println(m.Value.Units, m.Value.Item)
			if m.Value.Item == "milk" {
				end() // this is all; otherwise it goes on
			}
			return nil
		},
		Failed: func(f *client.Failure) { fmt.Printf("message %d failed, for good: %v\n", f.Sequence, f.Permanent) },
	})
	fmt.Println(err)
	// Output:
	// 2 tea
	// message 2 failed, for good: true
	// message 3 failed, for good: false
	// 1 milk
	// <nil>
}

// What a handler publishes is stored together with the acknowledgement: there is one bill for each order, whatever dies when.
func ExampleMessage_Publish() {
	js, stop := embedded()
	defer stop()
	publish(js, "tea", "milk")

	ctx, end := context.WithCancel(context.Background())
	err := client.Process(ctx, js, client.Work[string]{
		Stream: "orders", Consumer: "billing", Workers: 1,
		Handle: func(_ context.Context, m *client.Message[string]) error {
			m.Publish(&nats.Msg{Subject: "bills." + m.Value, Data: []byte("please pay")})
			if m.Value == "milk" {
				end()
			}
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	bills, err := js.Stream(context.Background(), "bills")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("bills:", bills.CachedInfo().State.Msgs)
	// Output: bills: 2
}

// Nobody asks for the messages of the consumer.
func ExampleExplain() {
	js, stop := embedded()
	defer stop()
	publish(js, "tea", "milk")

	why, err := client.Explain(context.Background(), js.Conn(), "orders", "billing")
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range why.Reasons {
		fmt.Println(r.Code+":", r.Text)
	}
	fmt.Println(why.Lag.Messages, "messages behind")
	// Output:
	// no_requests: 2 messages wait, and nobody asks for them: there is no pull request.
	// 2 messages behind
}

// All consumers that are more than a minute behind.
func ExampleAllLags() {
	js, stop := embedded()
	defer stop()

	page, err := client.AllLags(context.Background(), js.Conn(), client.LagQuery{})
	if err != nil {
		log.Fatal(err)
	}
	late := 0
	for _, c := range page.Consumers { // the one that is furthest behind first
		if c.Seconds > time.Minute.Seconds() {
			late++
		}
	}
	fmt.Println(late, "of", page.Total)
	// Output: 0 of 1
}
