package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"runnel/jetlog/config"
)

// Decoder reads the bodies of requests. It does not change and may be shared.
type Decoder struct {
	// Lenient lets unknown members pass in every request; without it only in those of which clients expect it.
	Lenient bool
	// Ignored is told of an unknown member that passed because of Lenient; nil is allowed.
	Ignored func(Endpoint, error)
}

// Decode reads the body of a call into a request, by the rule of the endpoint about empty and unknown. What the body
// does not say stays as it is. The request is not to be used when it returns an error.
func (d *Decoder) Decode(e Endpoint, data []byte, request any) *Error {
	row := e.row()
	first := firstByte(data)
	switch row.body {
	case bodyIgnored, bodyOwn:
		return nil
	case bodyRefused:
		if len(data) > 0 && !emptyObject(data) {
			return NewError(NotEmptyRequest)
		}
		return nil
	case bodyOptional:
		if first != '{' && first != '[' {
			return nil
		}
	case bodyRequired:
		if blank(data) {
			return NewError(config.BadRequest)
		}
	}
	if blank(data) {
		return nil
	}
	err := decode(data, request, row.body != bodyLenient)
	if d.Lenient && errors.Is(err, errUnknown) {
		if d.Ignored != nil {
			d.Ignored(e, err)
		}
		err = decode(data, request, false)
	}
	if err != nil {
		return NewError(InvalidJSON, short(err.Error()))
	}
	return nil
}

// errUnknown is a member that the request does not have.
var errUnknown = errors.New("json: unknown field")

// decode reads JSON, with strict only of members that the target has. Refused are, besides what is no JSON: a member
// that is there twice, text that is not UTF-8, and what is nested or spread out beyond all sense.
func decode(data []byte, into any, strict bool) error {
	odd := scan(data)
	if errors.Is(odd, errTooMuch) {
		return odd
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(into); err != nil {
		return plain(err)
	}
	if rest := bytes.TrimLeft(data[d.InputOffset():], blanks); len(rest) > 0 {
		return fmt.Errorf("invalid character %q after top-level value at offset %d", rest[0], len(data)-len(rest)+1)
	}
	return odd
}

// plain says an error of the decoder without names of our program, and where it is.
func plain(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%w at offset %d", err, syntax.Offset)
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("json: cannot unmarshal %s into %s of type %s", wrong.Value, fieldName(wrong.Field), typeName(wrong.Type))
	}
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	if name, ok := strings.CutPrefix(err.Error(), errUnknown.Error()); ok {
		return fmt.Errorf("%w%s", errUnknown, name)
	}
	return err
}

// fieldName names a field by its path in the JSON, without the embedded structs of the request.
func fieldName(path string) string {
	var names []string
	for name := range strings.SplitSeq(path, ".") {
		if name != "" && (name[0] < 'A' || name[0] > 'Z') {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "a request"
	}
	return "field " + strings.Join(names, ".")
}

// typeName is what JSON calls what is wanted.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "object"
	case reflect.Uint8: // the policies and what else has names
		return "string"
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "unsigned integer"
	}
	return "integer"
}

// blanks are what may stand between the parts of JSON.
const blanks = " \t\r\n"

// firstByte returns the first byte that is no blank, 0 for none.
func firstByte(data []byte) byte {
	if data = bytes.TrimLeft(data, blanks); len(data) > 0 {
		return data[0]
	}
	return 0
}

// blank reports whether there is nothing in data, or only blanks.
func blank(data []byte) bool { return len(bytes.TrimLeft(data, blanks)) == 0 }

// emptyObject reports whether data is `{}` with or without blanks.
func emptyObject(data []byte) bool {
	data = bytes.Trim(data, blanks)
	n := len(data)
	return n >= 2 && data[0] == '{' && data[n-1] == '}' && blank(data[1:n-1])
}

// maxTextBytes bounds what is said about a request, which may quote any part of it.
const maxTextBytes = 512

// short cuts a text that is too long to be said.
func short(text string) string {
	if len(text) <= maxTextBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxTextBytes], "") + "..."
}
