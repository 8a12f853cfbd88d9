package llamacpp

import "fmt"

// Layers after the last, which predict further tokens and which files count among the layers. They
// are not read.

// further takes the layers that predict further tokens from the number of layers.
func (r *Reader) further() {
	n := r.IntegerOf(furtherKey)
	if n == 0 {
		return
	}
	const most = 1 << 10 // of what files merely claim
	if layers := r.Layers(); n < 0 || n > most || layers < 1 {
		r.Refuse(furtherKey, n, "want 0 to %d, and less than block_count", most)
		return
	}
	r.Fields["num_hidden_layers"] = r.Layers()
}

// furtherLayers returns patterns of the tensors of layers that predict further tokens, and a
// warning if there are such layers.
func (r *Reader) furtherLayers() (patterns, warnings []string) {
	n := r.IntegerOf(furtherKey)
	for i := range n {
		patterns = append(patterns, fmt.Sprintf("blk.%d.*", r.Layers()+i))
	}
	if n > 0 {
		warnings = append(warnings, fmt.Sprintf("%s = %d: layers that predict further tokens are not read", r.Key(furtherKey), n))
	}
	return patterns, warnings
}
