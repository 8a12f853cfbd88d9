package llamacpp

import "fmt"

// Layers after the last, which predict further tokens and which files count among the layers. They are not read.

const furtherLayers = "nextn_predict_layers"

// Layers is the number of layers without those that predict further tokens.
func (r *Reader) Layers() int64 {
	return r.IntegerOf("block_count") - max(r.IntegerOf(furtherLayers), 0)
}

// further takes the layers that predict further tokens from the number of layers.
func (r *Reader) further() {
	n := r.IntegerOf(furtherLayers)
	if n == 0 {
		return
	}
	const most = 1 << 10 // of what files merely claim
	if layers := r.Layers(); n < 0 || n > most || layers < 1 {
		r.Refuse(furtherLayers, n, "want 0 to %d, and less than block_count", most)
		return
	}
	r.Fields["num_hidden_layers"] = r.Layers()
}

// Further is patterns of the tensors of layers that predict further tokens, and a warning if there are such layers.
func (r *Reader) Further() (patterns, warnings []string) {
	n := r.IntegerOf(furtherLayers)
	for i := range n {
		patterns = append(patterns, fmt.Sprintf("blk.%d.*", r.Layers()+i))
	}
	if n > 0 {
		warnings = append(warnings, fmt.Sprintf("%s = %d: layers that predict further tokens are not read", r.Key(furtherLayers), n))
	}
	return patterns, warnings
}

// each is a list with a value for each layer, without those for layers that predict further tokens.
func each[T any](r *Reader, list []T) []T {
	if n := r.Layers(); int64(len(list)) == r.IntegerOf("block_count") && n > 0 {
		return list[:n]
	}
	return list
}
