package configuration

import "github.com/avoformer/avoformer/transformer"

// Rotary positions that differ between the kinds of layer_types.

// RotaryOfEach returns the rotary positions in layers of a kind of layer_types, where rope_parameters must have an object for
// each kind that layers are of. Where there is no rope_parameters, otherwise is that object. rope_scaling does not count.
func (d Document) RotaryOfEach(kind, otherwise string, headDim, maxPositions int) (*transformer.RotaryConfig, error) {
	const field = "rope_parameters"
	theta, err := d.Theta(10000) // for objects that do not say it
	if err != nil {
		return nil, err
	}
	f := Rope(theta)
	f.Proportional = true
	if !d.Has(field) {
		d.Note(field)
		object, err := Parse(d.Name, []byte(otherwise))
		if err != nil {
			return nil, err
		}
		return d.RotaryOf(object, f, headDim, maxPositions)
	}
	all, err := d.Sub(field)
	if err != nil {
		return nil, err
	}
	for _, k := range []string{FullAttention, SlidingAttention} {
		all.Note(k)
	}
	object, err := all.Sub(kind)
	if err != nil {
		return nil, err
	}
	return d.RotaryOf(object, f, headDim, maxPositions)
}
