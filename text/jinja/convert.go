// Go's values, through their JSON.

package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// fromGo returns a Go value as the template sees it: what its JSON says. The keys of a
// json.RawMessage keep their order; those of a map are sorted.
func fromGo(v any) (any, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, failf("%v", err)
	}
	dec := json.NewDecoder(&b)
	dec.UseNumber()
	out, err := fromJSON(dec)
	if err != nil {
		return nil, failf("%v", err)
	}
	return sized(out)
}

func fromJSON(dec *json.Decoder) (any, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		if !strings.ContainsAny(t.String(), ".eE") {
			i, ok := parseInteger(t.String(), 10)
			if !ok {
				return nil, failf("an integer of %d characters", len(t))
			}
			return i, nil
		}
		f, err := strconv.ParseFloat(t.String(), 64)
		if errors.Is(err, strconv.ErrRange) {
			err = nil // infinity, as in Python
		}
		return f, err
	case json.Delim:
		if t == '[' {
			l := &list{}
			for dec.More() {
				x, err := fromJSON(dec)
				if err != nil {
					return nil, err
				}
				l.items = append(l.items, x)
			}
			_, err = dec.Token()
			return l, err
		}
		d := newDict()
		for dec.More() {
			k, err := dec.Token()
			if err != nil {
				return nil, err
			}
			x, err := fromJSON(dec)
			if err != nil {
				return nil, err
			}
			if err := d.set(k, x); err != nil {
				return nil, err
			}
		}
		_, err = dec.Token()
		return d, err
	}
	return t, nil
}
