package subjects_test

import (
	"fmt"

	"runnel/subjects"
)

func ExampleMatch() {
	fmt.Println(subjects.Match("orders.*.created", "orders.eu.created"))
	fmt.Println(subjects.Match("orders.>", "orders.eu.created"))
	fmt.Println(subjects.Match("orders.>", "orders"))
	// Output:
	// true
	// true
	// false
}

func ExampleSubset() {
	// Permission for orders.> includes a subscription to orders.*, but not the
	// other way round.
	fmt.Println(subjects.Subset("orders.*", "orders.>"))
	fmt.Println(subjects.Subset("orders.>", "orders.*"))
	// Output:
	// true
	// false
}

func ExampleTree() {
	tree := subjects.NewTree[string]()
	tree.Insert(&subjects.Entry[string]{Subject: "orders.*", Value: "billing"})
	tree.Insert(&subjects.Entry[string]{Subject: "orders.eu", Value: "europe"})

	subject := []byte("orders.eu")
	stamp := tree.Stamp(subject) // before the match
	for _, e := range tree.Match(subject, nil) {
		fmt.Println(e.Value)
	}

	tree.Insert(&subjects.Entry[string]{Subject: ">", Value: "audit"})
	fmt.Println(stamp.Valid())
	// Output:
	// europe
	// billing
	// false
}

func ExampleNewTransform() {
	t, err := subjects.NewTransform("orders.*.*", "shard.{{partition(4,2)}}.$1.{{left(2,2)}}")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.Apply("orders.eu.4711"))

	_, err = subjects.NewTransform("orders.*", "shard.$2")
	fmt.Println(err)
	// Output:
	// shard.2.eu.47 true
	// invalid transform destination "shard.$2": token 2, "$2": wildcard 2 does not exist, the source has 1
}
