package llamacpp

import (
	"cmp"

	"github.com/avoformer/avoformer/models/internal/configuration"
)

// Layers with windows in GGUF files.

// Windows reads the window and which layers have it: those that a list says, else all but the last
// of each group of a size. 0: all layers. If the group is negative, there must be a list or a size.
// Unless the architecture's widths vary, heads are the same in all layers.
func (r *Reader) Windows(group int64) {
	r.Integer("sliding_window", "attention.sliding_window", true)
	if !r.own.Varying {
		width := r.HeadWidth()
		turned := cmp.Or(r.IntegerOf("rope.dimension_count"), width)
		for key, want := range map[string]int64{"attention.key_length_swa": width, "attention.value_length_swa": width, "rope.dimension_count_swa": turned} {
			if n := r.IntegerOf(key); n != 0 && n != want {
				r.Refuse(key, n, "want %d, as in layers without a window", want)
			}
		}
	}
	const key, mostLayers = "attention.sliding_window_pattern", 1 << 12
	layers := r.IntegerOf("block_count")
	slides, _ := r.File.Value(r.Key(key))
	list, ok := slides.([]bool)
	switch {
	case layers > mostLayers:
		r.Refuse("block_count", layers, "want at most %d", mostLayers)
		return
	case !ok:
		if slides != nil {
			group = r.IntegerOf(key)
		}
		if group < 0 {
			r.Refuse(key, group, "want the size of a group of layers, or a list")
			return
		}
		list = make([]bool, max(layers, 0))
		for i := range list {
			list[i] = group == 0 || (int64(i)+1)%group != 0
		}
	}
	list = each(r, list)
	kinds := make([]string, len(list))
	for i, slides := range list {
		if kinds[i] = configuration.FullAttention; slides {
			kinds[i] = configuration.SlidingAttention
		}
	}
	r.Fields["layer_types"] = kinds
}

// ScaledWindows refuses what makes the positions in layers with windows others than those in layers
// without.
func (r *Reader) ScaledWindows() {
	r.Want("rope.freq_base_swa", r.NumberOf("rope.freq_base", 10000))
	if kind, _ := r.File.Text(r.Key("rope.scaling.type")); kind == "none" {
		if factor := r.factor(); factor != 1 {
			r.Refuse("rope.scaling.type", kind, "want a factor of 1, not %g, which layers with windows would keep", factor)
		}
	}
}
