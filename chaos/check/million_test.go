package check_test

import (
	"fmt"
	"testing"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

// million makes a history of about n operations: publishes of 20 processes, what a reader got of them, and the
// final reads of three nodes.
func million(n int) []history.Operation {
	sent := n / 5
	ops := make([]history.Operation, 0, n+10)
	for i := range sent {
		o := history.Operation{
			Process: i % 20, Node: "n1", Workload: "W1", Kind: history.Publish, Stream: "S", Key: "log.a", Value: fmt.Sprintf("%d-%d", i%20, i/20),
			Sequence: uint64(i + 1), Start: time.Duration(i) * time.Millisecond, End: time.Duration(i+15) * time.Millisecond, Result: history.OK,
		}
		ops = append(ops, o)
		o.Kind, o.Process, o.Start = history.Read, 30, o.End
		ops = append(ops, o)
	}
	for _, node := range []string{"n1", "n2", "n3"} {
		o := history.Operation{Process: 99, Node: node, Workload: "W1", Stream: "S", Start: time.Hour, End: time.Hour, Result: history.OK}
		for i := range sent {
			o.Kind, o.Key, o.Value, o.Sequence = history.Final, "log.a", ops[2*i].Value, ops[2*i].Sequence
			ops = append(ops, o)
		}
		o.Kind, o.Key, o.Value = history.Drained, "", ""
		ops = append(ops, o)
	}
	return ops
}

func BenchmarkLog(b *testing.B) {
	ops := million(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, found := check.Log(ops, "S"); len(found) > 0 {
			b.Fatal(found)
		}
	}
}

func BenchmarkReaders(b *testing.B) {
	ops := million(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		if found := check.Readers(ops, check.ReadersConfig{Stream: "S"}); len(found) > 0 {
			b.Fatal(found)
		}
	}
}

func BenchmarkRegisters(b *testing.B) {
	const swaps = 200_000
	ops := make([]history.Operation, 0, 2*swaps)
	last := map[string]uint64{}
	for i := range swaps {
		key := fmt.Sprintf("r%d", i%10)
		o := history.Operation{
			Process: i % 10, Node: "n1", Workload: "W5", Kind: history.Swap, Stream: "S", Key: key, Value: fmt.Sprintf("%d-%d", i%10, i/10), Expected: last[key],
			Sequence: uint64(i + 1), Start: time.Duration(i) * time.Millisecond, End: time.Duration(i+8) * time.Millisecond, Result: history.OK,
		}
		ops = append(ops, o)
		last[key] = o.Sequence
		o.Process, o.Kind, o.Start = 20+i%10, history.Get, o.End
		ops = append(ops, o)
	}
	b.ReportAllocs()
	for b.Loop() {
		check.Registers(ops, check.RegistersConfig{Stream: "S", Refusals: true})
	}
}
