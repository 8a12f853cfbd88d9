package vision

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/pyjson"
)

// sides is a size in preprocessor_config.json: height and width, the shorter side with a limit for
// the longer one, the longer side, or limits for both. A field that the file does not have is 0.
type sides struct{ height, width, shortest, longest, maxHeight, maxWidth int }

// size reads a size: an object, two numbers, or a single number, which is the side of a square or
// the shorter side.
func size(field string, text pyjson.Optional[json.RawMessage], square bool) (sides, error) {
	if !text.Given() || len(text.Value) == 0 {
		return sides{}, nil
	}
	var s sides
	var n int
	var pair [2]int
	switch {
	case pyjson.Unmarshal(text.Value, &n) == nil && square:
		s.height, s.width = n, n
	case pyjson.Unmarshal(text.Value, &n) == nil:
		s.shortest = n
	case pyjson.Unmarshal(text.Value, &pair) == nil:
		n, s.height, s.width = 1, pair[0], pair[1]
	default:
		var v map[string]int
		if err := pyjson.Unmarshal(text.Value, &v); err != nil {
			return sides{}, configError(field, "%s: want a number or an object of numbers", text.Value)
		}
		s = sides{v["height"], v["width"], v["shortest_edge"], v["longest_edge"], v["max_height"], v["max_width"]}
		has := func(names ...string) bool {
			for _, name := range names {
				if _, ok := v[name]; !ok {
					return false
				}
			}
			return len(v) == len(names)
		}
		if !has("height", "width") && !has("shortest_edge") && !has("shortest_edge", "longest_edge") && !has("longest_edge") && !has("max_height", "max_width") {
			return sides{}, configError(field, "%s: want height and width, shortest_edge or longest_edge", text.Value)
		}
	}
	for _, x := range []int{s.height, s.width, s.shortest, s.longest, s.maxHeight, s.maxWidth} {
		if x < 0 || x > 1<<14 {
			return sides{}, configError(field, "%s: want 1 to %d", text.Value, 1<<14)
		}
	}
	if !s.usable() && s.longest == 0 {
		return sides{}, configError(field, "%s: want 1 to %d", text.Value, 1<<14)
	}
	return s, nil
}

// usable reports whether an image can be resized to the size.
func (s sides) usable() bool {
	return s.shortest > 0 || s.height > 0 && s.width > 0 || s.maxHeight > 0 && s.maxWidth > 0
}

// of returns the size to which an image of w times h pixels is resized, rounded as transformers
// rounds it.
func (s sides) of(w, h int) (width, height int) {
	switch {
	case s.shortest > 0 && s.longest > 0:
		return s.bounded(w, h)
	case s.shortest > 0 && w <= h:
		return s.shortest, int(float64(s.shortest*h) / float64(w))
	case s.shortest > 0:
		return int(float64(s.shortest*w) / float64(h)), s.shortest
	case s.maxHeight > 0:
		scale := min(float64(s.maxHeight)/float64(h), float64(s.maxWidth)/float64(w))
		return int(float64(w) * scale), int(float64(h) * scale)
	}
	return s.width, s.height
}

// bounded returns the size with the shorter side, or a smaller one if the longer side would exceed
// its limit.
func (s sides) bounded(w, h int) (width, height int) {
	short, exact := s.shortest, float64(s.shortest)
	if least, most := float64(min(w, h)), float64(max(w, h)); most/least*exact > float64(s.longest) {
		exact = float64(s.longest) * least / most
		short = int(math.RoundToEven(exact))
	}
	switch {
	case h <= w && h == short, w <= h && w == short:
		return w, h
	case w < h:
		return short, int(exact * float64(h) / float64(w))
	}
	return int(exact * float64(w) / float64(h)), short
}

func configError(field, format string, args ...any) error {
	return &fault.Error{Kind: fault.ErrConfig, Field: field, Err: fmt.Errorf(format, args...)}
}
