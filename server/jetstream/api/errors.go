package api

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"runnel/jetlog/config"
)

// Error is what an answer says in `error`. ErrCode identifies it for ever; Code is its category, with the meaning of
// the numbers of HTTP; Description is for people and may change.
type Error struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

// Error returns the description and the number, for logs.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Description, e.ErrCode) }

//go:embed errors.json
var errorsJSON []byte

// table returns the errors by number. It reads the embedded text once.
var table = sync.OnceValue(func() map[config.Code]*Error {
	var list []*Error
	if err := json.Unmarshal(errorsJSON, &list); err != nil {
		panic("the embedded table of errors: " + err.Error())
	}
	byCode := make(map[config.Code]*Error, len(list))
	for _, row := range list {
		byCode[config.Code(row.ErrCode)] = row
	}
	return byCode
})

// NewError returns the error with this number. The details fill the placeholders of its text in their order; a
// placeholder without detail goes, with the colon before it, and a detail that repeats the text before it says it
// once. It is nil for code 0, which stands for no refusal, and
// the error of a failed store for a number that has no row.
func NewError(code config.Code, detail ...string) *Error {
	if code == 0 {
		return nil
	}
	row, ok := table()[code]
	if !ok {
		row = table()[config.StoreFailed]
		detail = []string{fmt.Sprintf("unknown error %d", code)}
	}
	return &Error{Code: row.Code, ErrCode: row.ErrCode, Description: fill(row, detail)}
}

// fill returns the row's text with its placeholders replaced.
func fill(row *Error, details []string) string {
	var b strings.Builder
	rest := row.Description
	for {
		before, after, ok := strings.Cut(rest, "{")
		_, after, closed := strings.Cut(after, "}")
		if !ok || !closed {
			b.WriteString(rest)
			break
		}
		detail := ""
		if len(details) > 0 {
			detail, details = details[0], details[1:]
		}
		if detail == "" {
			before = strings.TrimSuffix(strings.TrimSuffix(before, " "), ":")
		}
		b.WriteString(before)
		b.WriteString(strings.TrimPrefix(detail, before))
		rest = after
	}
	if b.Len() == 0 {
		return fmt.Sprintf("refused with error %d", row.ErrCode)
	}
	return b.String()
}

// FromConfig returns the error to answer for err: of a *config.Error or *Error in its chain, otherwise that the store
// has failed, which clients may try again. It is nil for nil.
func FromConfig(err error) *Error {
	if err == nil {
		return nil
	}
	var answer *Error
	if errors.As(err, &answer) {
		return answer
	}
	var refusal *config.Error
	if errors.As(err, &refusal) {
		return NewError(refusal.Code, refusal.Detail)
	}
	return NewError(config.StoreFailed, err.Error())
}
