package configuration

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/transformer"
)

// This file reads what config.json says of rotary positions, in the keys of transformers 4
// (rope_theta, rope_scaling) and 5 (rope_parameters).

// RopeFields are the fields of config.json for rotary positions. An architecture that has rotary
// positions embeds them in its configuration, and calls [Document.Rotary].
type RopeFields struct {
	RopeTheta      float64 // the default of the architecture
	RopeScaling    any     `json:"rope_scaling"`
	RopeParameters any     `json:"rope_parameters"`
	// The values of these fields are read where they have an effect.
	SaidTheta    any `json:"rope_theta"`
	SaidPart     any `json:"partial_rotary_factor"`
	SaidOriginal any `json:"original_max_position_embeddings"`

	Part     float64 // of each head that is rotated, by default
	Original int     // the length trained on by default; 0: that which the model was made for
	own      bool    // whether the fields above count, beside the objects'
	Partial  bool    // whether the architecture can rotate a part of each head
	// Proportional is whether rope_type proportional may leave the last pairs of each head as they
	// are.
	Proportional bool
	Long         bool    // whether longrope is the only other type
	Base         bool    // whether RopeTheta is what another field says, beside which rope_theta does not count
	Kinds        bool    // whether the architecture has layer_types
	Only         float64 // the base, whatever config.json says beside; 0: it says it
	Sharpens     bool    // whether mscale_all_dim beside a scaling multiplies queries
	Grows        bool    // whether queries grow with their positions
	Sections     []int   // pairs that turn by each axis of an image, by default; nil: positions have no axes
	Alpha        bool    // whether a field alpha beside the type dynamic makes frequencies that do not depend on the length
}

// Rope starts ropeFields with a default of theta.
func Rope(theta float64) RopeFields { return RopeFields{RopeTheta: theta, Part: 1} }

// ropeTypes are what rope_type may say.
const ropeTypes = "default, linear, proportional, dynamic, yarn, llama3 or longrope"

// Rotary returns the rotary positions for heads of the given size. maxPositions is the length that
// the model was made for. As in transformers, rope_scaling hides rope_parameters unless it is
// empty, and a theta in either goes before rope_theta.
func (d Document) Rotary(f RopeFields, headDim, maxPositions int) (*transformer.RotaryConfig, error) {
	object, err := d.ropeObject()
	if err != nil {
		return nil, err
	}
	if f.Kinds {
		for _, kind := range []string{FullAttention, SlidingAttention} {
			if object.Has(kind) {
				return nil, object.Errorf(kind, "this model_type has the same positions in all layers")
			}
		}
	}
	f.own = true
	return d.RotaryOf(object, f, headDim, maxPositions)
}

// ropeObject returns rope_scaling, rope_parameters if that is empty, or an object without fields if
// both are.
func (d Document) ropeObject() (Document, error) {
	object := d.Bare()
	for _, field := range []string{"rope_parameters", "rope_scaling"} {
		d.Note(field)
		if d.Empty(field) {
			continue
		}
		var err error
		if object, err = d.Sub(field); err != nil {
			return Document{}, err
		}
	}
	return object, nil
}

// Theta returns the base of the frequencies: what rope_theta says, or else otherwise.
func (d Document) Theta(otherwise float64) (float64, error) {
	said := struct {
		Theta float64 `json:"rope_theta" min:"1"` // below, frequencies grow beyond what float32 tells apart
	}{otherwise}
	err := d.Decode(&said)
	return said.Theta, err
}

// rotatedPart returns the part of each head that is rotated.
func (d Document) rotatedPart(object Document, f RopeFields, kind string) (float64, error) {
	const field = "partial_rotary_factor"
	from := object
	if f.own && !object.Has(field) {
		from = d
	}
	said := struct {
		Part float64 `json:"partial_rotary_factor"`
	}{f.Part}
	switch {
	case !from.Has(field):
		return f.Part, nil
	case f.Partial, f.Proportional && kind == "proportional":
		return said.Part, from.Decode(&said)
	case from.Field(field, &said.Part) == nil && said.Part == 1:
	case kind != "default":
		return 0, object.Errorf(field, "not supported by this model_type")
	default:
		d.warn("partial_rotary_factor = %s: ignored, as by transformers in this model_type", from.Value(field))
	}
	return 1, nil
}

// SaysPart reports whether partial_rotary_factor is there with another value than part.
func (d Document) SaysPart(part float64) bool {
	const field = "partial_rotary_factor"
	var said float64
	return d.Has(field) && (d.Field(field, &said) != nil || said != part)
}

// trained returns the length that the model was trained on, which some types of scaling ask for.
func (d Document) trained(object Document, f RopeFields, kind string, maxPositions int) (int, error) {
	const field = "original_max_position_embeddings"
	if !slices.Contains([]string{"yarn", "llama3", "longrope", "su"}, kind) {
		return 0, nil
	}
	said := struct {
		Original int `json:"original_max_position_embeddings" min:"0"`
	}{f.Original}
	var err error
	switch {
	case d.IsNull(field) && d.Name != GGUFMetadata: // it goes before the object's, in transformers too
		return 0, d.Errorf(field, "want a number of tokens")
	case f.own && d.Has(field):
		err = d.Decode(&said)
	case f.Original != 0 || d.Has(field):
	case object.Has(field):
		err = object.Decode(&said)
	default:
		said.Original = maxPositions
	}
	if err == nil && said.Original == 0 {
		err = d.Errorf(field, "want at least 1, in rope_parameters too")
	}
	return said.Original, err
}

// RotaryOf returns the rotary positions that object describes, which is d's.
func (d Document) RotaryOf(object Document, f RopeFields, headDim, maxPositions int) (*transformer.RotaryConfig, error) {
	s := ropeScaling{BetaFast: 32, BetaSlow: 1, Truncate: true}
	if err := object.Decode(&s); err != nil {
		return nil, err
	}
	if s.Type == "" {
		s.Type = cmp.Or(s.OldType, "default")
	}
	from := object
	if f.own && !object.Has("rope_theta") {
		from = d
	}
	theta, err := f.RopeTheta, error(nil)
	switch {
	case f.Only != 0:
		theta = f.Only
		if !(theta >= 1) || math.IsInf(theta, 0) {
			err = d.Errorf("layer_rope_theta", "want numbers from 1, or 0")
		}
	case from.IsNull("rope_theta") && from.Name != GGUFMetadata && !f.Base:
		err = from.Errorf("rope_theta", "want a number")
	case !f.Base || object.Has("rope_theta"):
		theta, err = from.Theta(theta)
	case d.Has("rope_theta"):
		d.warn("rope_theta = %s: ignored, as by transformers in this model_type", d.Value("rope_theta"))
	}
	if err != nil {
		return nil, err
	}
	part, err := d.rotatedPart(object, f, s.Type)
	if err != nil {
		return nil, err
	}
	if s.Type == "proportional" && !f.Proportional && (part != 1 || d.SaysPart(1)) {
		from := object
		if !object.Has("partial_rotary_factor") {
			from = d
		}
		return nil, from.Errorf("partial_rotary_factor", "not supported with rope_type proportional")
	}
	if s.original, err = d.trained(object, f, s.Type, maxPositions); err != nil {
		return nil, err
	}
	const mostFeatures = 1 << 16 // of a head, which allocates what configurations merely claim
	if headDim > mostFeatures {
		return nil, d.Errorf("head_dim", "heads of %d features, want at most %d", headDim, mostFeatures)
	}
	turned := headDim / 2 // pairs of a head that turn at all
	if s.Type == "proportional" {
		if part > 1 {
			return nil, object.Errorf("partial_rotary_factor", "want at most 1")
		}
		turned, part = int(part*float64(headDim)/2), 1
	}
	dim := int(float64(headDim) * part)
	if dim < 2 || dim > headDim || dim%2 != 0 {
		return nil, d.Errorf("partial_rotary_factor", "rotates %d features of heads of %d, want an even number", dim, headDim)
	}
	c := &transformer.RotaryConfig{Pairing: transformer.PairHalves, Theta: theta, Dim: dim, Frequencies: transformer.Frequencies(theta, dim)}
	if f.Sharpens && s.Type != "default" && s.MScaleAll > 0 {
		sharpened := float32(s.sharpen(s.MScaleAll) * s.sharpen(s.MScaleAll))
		c.QueryScale = func(int) float32 { return sharpened }
	}
	if f.Grows {
		if c.QueryScale, err = object.queryScale(s.original); err != nil {
			return nil, err
		}
	}
	if turned < dim/2 {
		clear(c.Frequencies[turned:])
	}
	if err := s.scale(object, f, c, maxPositions); err != nil || f.Sections == nil {
		return c, err
	}
	if c.FrequenciesAt != nil {
		return nil, object.Errorf("rope_type", "not supported with images")
	}
	c.Axes, err = object.axes(dim/2, f.Sections)
	return c, err
}

// axes returns the axis by which each pair of features turns where tokens of images have positions
// in time, down and across. Every third pair turns by the row and every third by the column, as
// many as mrope_section says, or else sections.
func (d Document) axes(pairs int, sections []int) ([]uint8, error) {
	const field = "mrope_section"
	if d.Has(field) {
		if err := d.Field(field, &sections); err != nil {
			return nil, err
		}
	}
	if d.IsNull(field) || len(sections) < 3 || min(sections[1], sections[2]) < 0 {
		return nil, d.Errorf(field, "want three numbers of pairs")
	}
	axes := make([]uint8, pairs)
	for i := range axes {
		if axis := i % 3; axis > 0 && i/3 < sections[axis] {
			axes[i] = uint8(axis)
		}
	}
	return axes, nil
}

// queryScale is what queries at a position are multiplied by: 1 within the length trained on, and
// then slowly more. original is that length; 0: the object says it.
func (d Document) queryScale(original int) (func(position int) float32, error) {
	said := struct {
		Beta     float64 `json:"llama_4_scaling_beta" min:"0"`
		Original int     `json:"original_max_position_embeddings"`
		Most     any     `json:"max_position_embeddings"` // config.json says it too
	}{Original: cmp.Or(original, 1)}
	if err := d.Decode(&said); err != nil {
		return nil, err
	}
	if !d.Has("llama_4_scaling_beta") {
		return nil, d.Errorf("llama_4_scaling_beta", "want a number")
	}
	if original == 0 && !d.Has("original_max_position_embeddings") {
		return nil, d.Errorf("original_max_position_embeddings", "want the length trained on")
	}
	length := cmp.Or(original, said.Original)
	return func(position int) float32 {
		return float32(1 + float64(said.Beta*elementary.Log(float64(1+position/length)))) // rounded before the sum on every machine
	}, nil
}

// RotaryOfKind returns the rotary positions in layers of a kind of layer_types, where
// rope_parameters has an object for each kind. Where it has not, theta holds. If scaled, what
// rope_scaling says goes before that.
func (d Document) RotaryOfKind(kind string, theta float64, scaled bool, headDim, maxPositions int) (*transformer.RotaryConfig, error) {
	object, err := d.ropeObjectOfKind(kind, scaled)
	if err != nil {
		return nil, err
	}
	if truncate := true; object.Has(truncateField) && object.Field(truncateField, &truncate) == nil && !truncate {
		object.warn("%s = %s: ignored, as by transformers in positions for a kind of layers", truncateField, object.Value(truncateField))
		object.Fields = maps.Clone(object.Fields)
		delete(object.Fields, truncateField)
	}
	return d.RotaryOf(object, Rope(theta), headDim, maxPositions)
}

// Reach returns the most positions of a model that was made for maxPositions: the type dynamic
// multiplies them by its factor. kind is that of the layers where rope_parameters has an object for
// each, or else empty.
func (d Document) Reach(kind string, maxPositions int) int {
	d.account = nil // the positions themselves account for the fields
	object, err := d.ropeObject()
	if kind != "" {
		object, err = d.ropeObjectOfKind(kind, true)
	}
	said := struct {
		Type    string  `json:"rope_type"`
		OldType string  `json:"type"`
		Factor  float64 `json:"factor" min:"0"`
	}{}
	if err == nil {
		err = object.Decode(&said)
	}
	if err != nil || cmp.Or(said.Type, said.OldType) != "dynamic" {
		return maxPositions // errors are those of the positions themselves
	}
	return int(min(float64(maxPositions)*max(said.Factor, 1), math.MaxInt32))
}

// ropeObjectOfKind returns the object for a kind of layers, as [Document.RotaryOfKind] reads it.
func (d Document) ropeObjectOfKind(kind string, scaled bool) (Document, error) {
	// Without an object for the kind there is one that says default, which a scaling's old key type
	// does not change.
	object := Document{Name: d.Name, account: d.account, Fields: map[string]json.RawMessage{"rope_type": json.RawMessage(`"default"`)}}
	var all Document
	if d.Has("rope_parameters") {
		var err error
		if all, err = d.Sub("rope_parameters"); err != nil {
			return Document{}, err
		}
		for _, k := range []string{FullAttention, SlidingAttention} {
			all.Note(k)
		}
		if all.Has(kind) {
			if object, err = all.Sub(kind); err != nil {
				return Document{}, err
			}
		}
	}
	if scaled && d.Has("rope_scaling") {
		scaling, err := d.Sub("rope_scaling")
		switch {
		case err != nil:
			return Document{}, err
		case all.Fields != nil && !all.Has(kind):
			return Document{}, d.Errorf("rope_scaling", "rope_parameters lacks %s", kind)
		}
		fields := maps.Clone(scaling.Fields)
		for name, v := range object.Fields {
			if _, ok := fields[name]; !ok {
				fields[name] = v
			}
		}
		object = scaling
		object.Fields = fields
	}
	return object, nil
}

// truncateField says whether yarn rounds the pairs that it blends between.
const truncateField = "truncate"

// scale changes the frequencies of c as s says, which d holds.
func (s ropeScaling) scale(d Document, f RopeFields, c *transformer.RotaryConfig, maxPositions int) error {
	if f.Long && (s.Type == "yarn" || s.Type == "su") {
		s.Type = "longrope"
	}
	if f.Long && s.Type != "longrope" && s.Type != "default" {
		return d.Errorf("rope_type", "want default or longrope")
	}
	factor := func() error {
		if !(s.Factor > 0) {
			return d.Errorf("factor", "want a number above 0")
		}
		return nil
	}
	switch s.Type {
	case "default":
		return nil
	case "proportional": // of all features: a factor that may be absent
		s.Factor = cmp.Or(s.Factor, 1)
		fallthrough
	case "linear":
		for i := range c.Frequencies {
			c.Frequencies[i] /= s.Factor
		}
		return factor()
	case "dynamic":
		if f.Alpha {
			fixed := struct {
				Alpha float64 `json:"alpha" min:"0"`
			}{}
			if err := d.Decode(&fixed); err != nil || fixed.Alpha > 0 {
				c.Frequencies = transformer.Frequencies(Stretched(c.Theta, fixed.Alpha, c.Dim), c.Dim)
				return err
			}
		}
		c.FrequenciesAt = s.dynamic(c, maxPositions)
		return factor()
	case "yarn":
		if s.Factor == 0 {
			s.Factor = float64(maxPositions) / float64(s.original)
		}
		s.yarn(c)
		return factor()
	case "llama3":
		if !(s.Low > 0) || !(s.High > s.Low) {
			return d.Errorf("high_freq_factor", "want more than low_freq_factor = %g, and that above 0", s.Low)
		}
		s.llama3(c)
		return factor()
	case "longrope", "su":
		half := len(c.Frequencies)
		if len(s.Short) != half {
			return d.Errorf("short_factor", "want %d numbers", half)
		}
		if len(s.Long) != half {
			return d.Errorf("long_factor", "want %d numbers", half)
		}
		if slices.Min(s.Short) <= 0 || slices.Min(s.Long) <= 0 {
			return d.Errorf("short_factor", "want numbers above 0, in long_factor too")
		}
		s.longrope(c, maxPositions)
		return nil
	}
	field := "rope_type"
	if !d.Has(field) {
		field = "type"
	}
	return d.Errorf(field, "unknown; want %s", ropeTypes)
}
