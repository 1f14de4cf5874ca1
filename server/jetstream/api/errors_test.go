package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

// unused are the rows of the table that one server alone never answers with, by the reason.
var unused = map[string][]int{
	"of clusters": {
		10004, 10006, 10007, 10009, 10011, 10036, 10119, 10123, 10124, 10158, 10163,
		10202, 10226,
	},
	"of templates, which have gone": {10066, 10067, 10068, 10073},
	"told by a more exact one": {
		10029, 10041, 10045, 10048, 10049, 10050, 10051, 10053, 10061, 10069, 10072, 10096, 10104, 10180,
	},
	"of what is allowed here, or cannot happen": {10016, 10020, 10033, 10085, 10092, 10093, 10106},
}

// TestErrorTable checks that every number that is named has a row, under one name, and that every row without a name
// is known to be unused.
func TestErrorTable(t *testing.T) {
	names := map[int]string{}
	for _, file := range []string{"codes.go", "../../../jetlog/config/code.go"} {
		for name, code := range codes(t, file) {
			if other, ok := names[code]; ok {
				t.Errorf("%d is both %s and %s", code, other, name)
			}
			names[code] = name
		}
	}
	for reason, list := range unused {
		for _, code := range list {
			if name, ok := names[code]; ok {
				t.Errorf("%d is used as %s, but listed as unused: %s", code, name, reason)
			}
			names[code] = reason
		}
	}
	rows := table(t)
	for i, row := range rows {
		if i > 0 && row.ErrCode <= rows[i-1].ErrCode {
			t.Errorf("%d is not in order", row.ErrCode)
		}
		if names[row.ErrCode] == "" {
			t.Errorf("%d %q has no name and is not listed as unused", row.ErrCode, row.Description)
		}
		if row.Code < 400 || row.Code > 503 || row.Description == "" {
			t.Errorf("%d: got code %d and %q", row.ErrCode, row.Code, row.Description)
		}
		delete(names, row.ErrCode)
	}
	for code, name := range names {
		t.Errorf("%d (%s) has no row", code, name)
	}
}

// codes returns the constants of type Code in a file.
func codes(t *testing.T, file string) map[string]int {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if value, ok := spec.Values[0].(*ast.BasicLit); ok && value.Kind == token.INT {
			found[spec.Names[0].Name], err = strconv.Atoi(value.Value)
			if err != nil {
				t.Fatal(err)
			}
		}
		return true
	})
	if len(found) == 0 {
		t.Fatalf("%s has no constants", file)
	}
	return found
}

// table returns the rows of the embedded table.
func table(t *testing.T) []api.Error {
	t.Helper()
	text, err := os.ReadFile("errors.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []api.Error
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestErrorTexts pins how the texts of the table are filled.
func TestErrorTexts(t *testing.T) {
	tests := []struct {
		name    string
		code    config.Code
		details []string
		want    string
	}{
		{"nothing to fill", api.StreamNotFound, nil, `{"code":404,"err_code":10059,"description":"stream not found"}`},
		{"detail that is not wanted", api.StreamNotFound, []string{"x"}, `{"code":404,"err_code":10059,"description":"stream not found"}`},
		{"at the end", config.WrongLastSequence, []string{"2"}, `{"code":400,"err_code":10071,"description":"wrong last sequence: 2"}`},
		{"in the middle", config.SequenceNotFound, []string{"1"}, `{"code":400,"err_code":10043,"description":"sequence 1 not found"}`},
		{"all of it", config.StreamInvalidConfig, []string{"invalid subject"}, `{"code":500,"err_code":10052,"description":"invalid subject"}`},
		{"two", api.ExternalAPIOverlap, []string{"a", "b"}, `{"code":400,"err_code":10021,"description":"stream external api prefix a must not overlap with b"}`},
		{"missing at the end", api.InvalidJSON, nil, `{"code":400,"err_code":10025,"description":"invalid JSON"}`},
		{"missing altogether", config.StreamInvalidConfig, nil, `{"code":500,"err_code":10052,"description":"refused with error 10052"}`},
		{"said already", config.Pedantic, []string{"pedantic mode: x"}, `{"code":400,"err_code":10157,"description":"pedantic mode: x"}`},
		{"placeholder in a detail", api.InvalidJSON, []string{"{err}"}, `{"code":400,"err_code":10025,"description":"invalid JSON: {err}"}`},
		{"no such row", 9999, nil, `{"code":503,"err_code":10077,"description":"unknown error 9999"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(api.NewError(tt.code, tt.details...))
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s %v, want %s", got, err, tt.want)
			}
		})
	}
	if got := api.NewError(0, "x"); got != nil {
		t.Errorf("code 0: got %v, want nil", got)
	}
	for _, row := range table(t) {
		filled := api.NewError(config.Code(row.ErrCode), "one", "two")
		if strings.ContainsAny(filled.Description, "{}") || strings.Contains(row.Description, "{") != (filled.Description != row.Description) {
			t.Errorf("%d: got %q of %q", row.ErrCode, filled.Description, row.Description)
		}
	}
}

// TestFromConfig checks which error stands for which.
func TestFromConfig(t *testing.T) {
	answer := api.NewError(api.StreamNotFound)
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"refusal", &config.Error{Code: config.WrongLastSequence, Detail: "7"}, "wrong last sequence: 7 (10071)"},
		{"wrapped refusal", fmt.Errorf("propose: %w", &config.Error{Code: config.Sealed}), "invalid operation on sealed stream (10109)"},
		{"error of the table", fmt.Errorf("look: %w", answer), "stream not found (10059)"},
		{"anything else", errors.New("disk full"), "disk full (10077)"},
	}
	for _, tt := range tests {
		if got := api.FromConfig(tt.err); got.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, got, tt.want)
		}
	}
	if got := api.FromConfig(nil); got != nil {
		t.Errorf("nil: got %v", got)
	}
	// The table is one for all: who changes an answer must not change it.
	answer.Description = "changed"
	if got := api.NewError(api.StreamNotFound).Description; got != "stream not found" {
		t.Errorf("after a change: got %q", got)
	}
	if !slices.IsSortedFunc(table(t), func(a, b api.Error) int { return a.ErrCode - b.ErrCode }) {
		t.Error("the table is not sorted")
	}
}
