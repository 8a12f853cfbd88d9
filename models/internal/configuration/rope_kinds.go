package configuration

import (
	"cmp"

	"github.com/avoformer/avoformer/transformer"
)

// Rotary positions that differ between the kinds of layer_types.

// RotaryOfEach returns the rotary positions in layers of a kind of layer_types. rope_parameters
// must have an object for each kind of the layers. If there is no rope_parameters, otherwise takes
// the place of that object. rope_scaling, unless it is empty, takes the place of rope_parameters,
// as in transformers.
func (d Document) RotaryOfEach(kind, otherwise string, headDim, maxPositions int) (*transformer.RotaryConfig, error) {
	field := "rope_parameters"
	if d.Note("rope_scaling"); !d.Empty("rope_scaling") {
		d.Note(field)
		field = "rope_scaling"
	}
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

// AxialTheta returns the base of rotary positions that turn with the rows and the columns of an
// image: rope_theta of the object, of d, or otherwise. Both rope types "default" and "axial" are
// these positions. Another type is an error.
func (d Document) AxialTheta(otherwise float64) (float64, error) {
	object, err := d.ropeObject()
	if err != nil {
		return 0, err
	}
	said := struct {
		Type    string `json:"rope_type"`
		OldType string `json:"type"`
		Part    any    `json:"partial_rotary_factor"` // all features turn, whatever it says
	}{}
	if err := object.Decode(&said); err != nil {
		return 0, err
	}
	field := "rope_type"
	if !object.Has(field) {
		field = "type"
	}
	if kind := cmp.Or(said.Type, said.OldType, "default"); kind != "default" && kind != "axial" {
		return 0, object.Errorf(field, "want default or axial")
	}
	for _, field := range []string{"rope_theta", "partial_rotary_factor"} {
		d.Note(field)
	}
	if object.Has("rope_theta") {
		return object.Theta(otherwise)
	}
	return d.Theta(otherwise)
}
