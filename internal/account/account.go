// Package account decides how the fields of the files next to config.json are treated. A field is
// read, has no effect, has the meaning of its default, or is an error that names it. A field that
// no class of the Python libraries has gives a warning.
package account

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/internal/pyjson"
)

// Tags returns the JSON names of a struct's fields.
func Tags(of any) map[string]bool {
	tags := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			tags[name] = true
		}
	}
	return tags
}

// Settle goes through the fields of a file. Fields in read and in idle, which have no effect here,
// are accepted. A field that the class does not have is a warning, or an error if the class refuses
// such fields too. An error has a field and matches fault.ErrConfig; the caller adds the file.
func Settle(c pyclass.Class, fields map[string]json.RawMessage, read map[string]bool, idle []string) (warnings []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if read[name] || slices.Contains(idle, name) || strings.HasPrefix(name, "_") {
			continue
		}
		initial, known := c.Fields[name]
		switch {
		case !known && c.Strict:
			return nil, &fault.Error{Kind: fault.ErrConfig, Field: name, Value: check.JSON(fields[name]), Err: fmt.Errorf("unknown field")}
		case !known:
			warnings = append(warnings, fmt.Sprintf("%s = %s: ignored, as by %s, which has no such field here", name, check.JSON(fields[name]), c.Library))
		case !same(fields[name], initial):
			return nil, &fault.Error{Kind: fault.ErrConfig, Field: name, Value: check.JSON(fields[name]), Err: fmt.Errorf("not supported")}
		}
	}
	return warnings, nil
}

// same reports whether two values of JSON are equal. Numbers are compared by their values.
func same(a json.RawMessage, b string) bool {
	var x, y any
	return pyjson.Unmarshal(a, &x) == nil && pyjson.Unmarshal([]byte(b), &y) == nil && (x == nil || reflect.DeepEqual(x, y))
}
