package overrides

import (
	"reflect"
	"testing"

	"github.com/avoformer/avoformer/generation"
)

// TestSampling: each option of generation.Sampling except the seed has a name, is applied, and is
// checked under that name.
func TestSampling(t *testing.T) {
	options := reflect.TypeFor[generation.Sampling]()
	for i := range options.NumField() {
		name := options.Field(i).Name
		if name == "Seed" {
			continue
		}
		field, ok := reflect.TypeFor[Sampling]().FieldByName(name)
		tag := field.Tag.Get("json")
		if !ok || tag == "" {
			t.Errorf("%s has no name in files and requests", name)
			continue
		}
		stated := func(n float64) *Sampling {
			var s Sampling
			value := reflect.New(field.Type.Elem())
			value.Elem().Set(reflect.ValueOf(n).Convert(field.Type.Elem()))
			reflect.ValueOf(&s).Elem().FieldByName(name).Set(value)
			return &s
		}
		s, applied := stated(1), generation.Sampling{}
		for j := range options.NumField() {
			reflect.ValueOf(&applied).Elem().Field(j).Set(reflect.ValueOf(3).Convert(options.Field(j).Type))
		}
		s.Apply(&applied)
		for j := range options.NumField() {
			has, want := reflect.ValueOf(applied).Field(j), map[bool]float64{true: 1, false: 3}[i == j]
			if has.Convert(reflect.TypeFor[float64]()).Float() != want {
				t.Errorf("%s applied: %s is %v, want %v", name, options.Field(j).Name, has, want)
			}
		}
		if e := s.Check(); e != nil || !s.Any() {
			t.Errorf("%s = 1: error %v, any %t", name, e, s.Any())
		}
		// A stated 0 is applied too, and for a probability it does not switch the filter off.
		zero := generation.Sampling{TopP: 3, TypicalP: 3}
		stated(0).Apply(&zero)
		if name == "TopP" && zero.TopP != generation.ZeroP || name == "TypicalP" && zero.TypicalP != generation.ZeroP {
			t.Errorf("%s = 0 applied: %+v", name, zero)
		}
		if name == "TopK" {
			if e := stated(-1).Check(); e != nil {
				t.Errorf("TopK = -1, which means all: %v", e)
			}
		} else if e := stated(-1).Check(); e == nil || e.Field != tag || e.Value != "-1" {
			t.Errorf("%s = -1: error %v, want one of %s", name, e, tag)
		}
	}
}
