package models

// This file reads which layers of a decoder have a sliding window.

// windowFields are the fields of config.json that tell; see [Checkpoint.windows].
type windowFields struct {
	Window     int      `json:"sliding_window" min:"0"` // 0: null
	LayerTypes []string `json:"layer_types"`
}

// The values of layer_types.
const (
	fullAttention    = "full_attention"
	slidingAttention = "sliding_attention"
)

// windows is the window of each layer, 0 where it has none. slides tells which have one
// where layer_types does not; without a size of the window none has.
func (c *Checkpoint) windows(f windowFields, layers int, slides func(layer int) bool) (func(layer int) int, error) {
	if f.LayerTypes != nil && len(f.LayerTypes) != layers {
		return nil, c.JSON.Errorf("layer_types", "want %d values, as many as layers", layers)
	}
	for _, kind := range f.LayerTypes {
		switch {
		case kind != fullAttention && kind != slidingAttention:
			return nil, c.JSON.Errorf("layer_types", "want %q and %q", fullAttention, slidingAttention)
		case kind == slidingAttention && f.Window == 0:
			return nil, c.JSON.Errorf("layer_types", "%s without the size of a window", kind)
		}
	}
	return func(i int) int {
		if f.LayerTypes != nil && f.LayerTypes[i] == slidingAttention || f.LayerTypes == nil && slides(i) {
			return f.Window
		}
		return 0
	}, nil
}

// isNull reports whether the object has the field, as null.
func (d Document) isNull(field string) bool {
	_, ok := d.fields[field]
	return ok && !d.Has(field)
}
