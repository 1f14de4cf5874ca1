package subjects

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
)

// function is one that a destination may call.
type function struct {
	name string
	// usage shows the arguments. They are numbers, but for the last of a function
	// with text.
	usage    string
	min, max int
	text     bool
	build    func(c *compiler, numbers []int, text string) (part, error)
}

// functions is never changed. The first is the only one for imports.
var functions = []function{
	{name: "wildcard", usage: "wildcard(n)", min: 1, max: 1, build: buildWildcard},
	{name: "partition", usage: "partition(buckets,n,...)", min: 1, max: math.MaxInt, build: buildPartition},
	{name: "split", usage: "split(n,separator)", min: 2, max: 2, text: true, build: buildSplit},
	{name: "splitfromleft", usage: "splitfromleft(n,length)", min: 2, max: 2, build: cutting(splitFromLeft)},
	{name: "splitfromright", usage: "splitfromright(n,length)", min: 2, max: 2, build: cutting(splitFromRight)},
	{name: "slicefromleft", usage: "slicefromleft(n,length)", min: 2, max: 2, build: cutting(sliceFromLeft)},
	{name: "slicefromright", usage: "slicefromright(n,length)", min: 2, max: 2, build: cutting(sliceFromRight)},
	{name: "left", usage: "left(n,length)", min: 2, max: 2, build: cutting(left)},
	{name: "right", usage: "right(n,length)", min: 2, max: 2, build: cutting(right)},
	{name: "random", usage: "random(limit)", min: 1, max: 1, build: buildRandom},
}

// call compiles a token of the form {{name(arguments)}}.
func (c *compiler) call(token string) (part, error) {
	inner, opened := strings.CutPrefix(token, "{{")
	inner, closed := strings.CutSuffix(inner, "}}")
	if !opened || !closed {
		return nil, errors.New("a function must be a whole token, {{name(arguments)}}, without dots")
	}
	name, list, called := strings.Cut(strings.TrimSpace(inner), "(")
	list, closed = strings.CutSuffix(list, ")")
	name = strings.TrimSpace(name)
	if !called || !closed {
		return nil, fmt.Errorf("unknown function: want name(arguments), have %s", c.usages())
	}
	for i := range c.functions {
		if f := &c.functions[i]; strings.EqualFold(f.name, name) {
			return c.apply(f, strings.Split(list, ","))
		}
	}
	return nil, fmt.Errorf("unknown function %q: have %s", name, c.usages())
}

// apply compiles a call of f.
func (c *compiler) apply(f *function, arguments []string) (part, error) {
	if len(arguments) < f.min || len(arguments) > f.max {
		return nil, fmt.Errorf("function %s: %d arguments, want {{%s}}", f.name, len(arguments), f.usage)
	}
	var text string
	if f.text {
		last := len(arguments) - 1
		text, arguments = arguments[last], arguments[:last]
	}
	numbers := make([]int, len(arguments))
	for i, argument := range arguments {
		n, err := strconv.ParseInt(strings.TrimSpace(argument), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("function %s: argument %d, %q, is not a number up to %d, want {{%s}}",
				f.name, i+1, argument, math.MaxInt32, f.usage)
		}
		numbers[i] = int(n)
	}
	p, err := f.build(c, numbers, text)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", f.name, err)
	}
	return p, nil
}

// usages lists the functions there are, for errors.
func (c *compiler) usages() string {
	var usages []string
	for i := range c.functions {
		usages = append(usages, c.functions[i].usage)
	}
	return strings.Join(usages, ", ")
}

func buildWildcard(c *compiler, numbers []int, _ string) (part, error) {
	return c.wildcard(numbers[0])
}

// buildPartition builds the number of the bucket that the wildcards given, or
// without any the whole subject, fall into.
func buildPartition(c *compiler, numbers []int, _ string) (part, error) {
	buckets, indexes := numbers[0], numbers[1:]
	if buckets < 1 {
		return nil, fmt.Errorf("%d buckets, want at least 1", buckets)
	}
	for i, n := range indexes {
		index, err := c.index(n)
		if err != nil {
			return nil, err
		}
		indexes[i] = index
	}
	return func(out []byte, m *matched) []byte {
		hash := fnv.New32a()
		if len(indexes) == 0 {
			hash.Write([]byte(m.subject))
		}
		for _, i := range indexes {
			hash.Write([]byte(m.wildcards[i]))
		}
		return strconv.AppendUint(out, uint64(hash.Sum32()%uint32(buckets)), 10)
	}, nil
}

// buildSplit builds the pieces of a wildcard between separators, or its letters
// when the separator is empty, without empty pieces. A wildcard that has no
// other pieces stays whole, since a subject with an empty token would go nowhere.
func buildSplit(c *compiler, numbers []int, separator string) (part, error) {
	i, err := c.index(numbers[0])
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(separator, func(r rune) bool { return r < 0x80 && forbidden(byte(r)) }) {
		return nil, fmt.Errorf("the separator %q has white space, which no token has", separator)
	}
	return func(out []byte, m *matched) []byte {
		before := len(out)
		for piece := range strings.SplitSeq(m.wildcards[i], separator) {
			if piece != "" {
				out = appendPiece(out, before, piece)
			}
		}
		if len(out) == before {
			out = append(out, m.wildcards[i]...)
		}
		return out
	}, nil
}

// appendPiece appends a token to the pieces that begin at out[first].
func appendPiece(out []byte, first int, piece string) []byte {
	if len(out) > first {
		out = append(out, separator)
	}
	return append(out, piece...)
}

func buildRandom(c *compiler, numbers []int, _ string) (part, error) {
	limit := numbers[0]
	if limit < 1 {
		return nil, fmt.Errorf("limit %d, want at least 1", limit)
	}
	c.random = true
	return func(out []byte, m *matched) []byte {
		return strconv.AppendInt(out, int64(m.random(limit)), 10)
	}, nil
}

// cutting builds a function of a wildcard and a length. It is called only for
// tokens that are longer; others stay as they are.
func cutting(cut func(out []byte, token string, length int) []byte) func(*compiler, []int, string) (part, error) {
	return func(c *compiler, numbers []int, _ string) (part, error) {
		i, err := c.index(numbers[0])
		if err != nil {
			return nil, err
		}
		length := numbers[1]
		if length < 1 {
			return nil, fmt.Errorf("length %d, want at least 1", length)
		}
		return func(out []byte, m *matched) []byte {
			if token := m.wildcards[i]; len(token) > length {
				return cut(out, token, length)
			}
			return append(out, m.wildcards[i]...)
		}, nil
	}
}

func splitFromLeft(out []byte, token string, length int) []byte {
	return appendPair(out, token, length)
}

func splitFromRight(out []byte, token string, length int) []byte {
	return appendPair(out, token, len(token)-length)
}

// appendPair appends the two tokens that a cut at the given place makes.
func appendPair(out []byte, token string, at int) []byte {
	out = append(out, token[:at]...)
	out = append(out, separator)
	return append(out, token[at:]...)
}

// sliceFromLeft cuts the token into pieces of the length; the last is what
// remains.
func sliceFromLeft(out []byte, token string, length int) []byte {
	before := len(out)
	for len(token) > length {
		out = appendPiece(out, before, token[:length])
		token = token[length:]
	}
	return appendPiece(out, before, token)
}

// sliceFromRight cuts the token into pieces of the length; the first is what
// remains.
func sliceFromRight(out []byte, token string, length int) []byte {
	before := len(out)
	if first := len(token) % length; first > 0 {
		out = append(out, token[:first]...)
		token = token[first:]
	}
	for ; len(token) > 0; token = token[length:] {
		out = appendPiece(out, before, token[:length])
	}
	return out
}

func left(out []byte, token string, length int) []byte {
	return append(out, token[:length]...)
}

func right(out []byte, token string, length int) []byte {
	return append(out, token[len(token)-length:]...)
}
