package configuration

import "slices"

// Which layers have a window.

// WindowFields are the fields of config.json for windows, which [Document.Windows] reads.
type WindowFields struct {
	Window     int      `json:"sliding_window" min:"0"` // 0: null
	LayerTypes []string `json:"layer_types"`
}

// The values of layer_types.
const (
	FullAttention    = "full_attention"
	SlidingAttention = "sliding_attention"
)

// Windows returns the window of each layer, 0 for a layer without one. slides says which layers
// have a window if layer_types does not; without a size of the window, no layer has one.
func (d Document) Windows(f WindowFields, layers int, slides func(layer int) bool) (func(layer int) int, error) {
	if f.LayerTypes != nil {
		if err := d.LayerTypes(f.LayerTypes, layers); err != nil {
			return nil, err
		}
	}
	if f.Window == 0 && slices.Contains(f.LayerTypes, SlidingAttention) {
		return nil, d.Errorf("layer_types", "%s without the size of a window", SlidingAttention)
	}
	return func(i int) int {
		if f.LayerTypes != nil && f.LayerTypes[i] == SlidingAttention || f.LayerTypes == nil && slides(i) {
			return f.Window
		}
		return 0
	}, nil
}

// LayerTypes returns an error unless layer_types has a known kind for each layer.
func (d Document) LayerTypes(kinds []string, layers int) error {
	if len(kinds) != layers {
		return d.Errorf("layer_types", "want %d values, as many as layers", layers)
	}
	for _, kind := range kinds {
		if kind != FullAttention && kind != SlidingAttention {
			return d.Errorf("layer_types", "want %q and %q", FullAttention, SlidingAttention)
		}
	}
	return nil
}
