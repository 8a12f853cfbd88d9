package weightfile

import (
	"maps"
	"reflect"
	"slices"

	"github.com/avoformer/avoformer/models/internal/configuration"
)

// What compressed-tensors says of weights, in groups of modules. Which tensors there are says which
// modules a group has.

var compressed = method{[]string{"quant_method", "format", "config_groups", "kv_cache_scheme", "sparsity_config", "transform_config", "ignore",
	"quantization_status", "global_compression_ratio", "version", "moe_sparsity_config"}, compressedScheme}

// compressedForms return the scheme of a group's weights, by the format. They get the group's
// object for weights.
var compressedForms = map[string]func(weights configuration.Document) (scheme, error){
	"pack-quantized":  func(d configuration.Document) (scheme, error) { return intGroup(d, packedForm) },
	"int-quantized":   func(d configuration.Document) (scheme, error) { return intGroup(d, bytesForm) },
	"float-quantized": fp8Group,

	"nvfp4-pack-quantized": codesGroup("tensor_group", nvfp4Group),
	"mxfp4-pack-quantized": codesGroup("group", mxfp4Block),
}

// groupFields and weightFields are those of a group and of its weights that are read, or say
// nothing about numbers.
var (
	groupFields  = []string{"targets", "weights", "input_activations", "output_activations", "format"}
	weightFields = []string{"num_bits", "type", "symmetric", "group_size", "strategy", "block_structure", "dynamic", "actorder", "scale_dtype", "zp_dtype", "observer", "observer_kwargs"}
)

// compressedScheme returns what compressed-tensors says.
func compressedScheme(d configuration.Document) (scheme, []string, error) {
	of := struct {
		Format string `json:"format"`
	}{}
	if err := d.Decode(&of); err != nil {
		return nil, nil, err
	}
	form := compressedForms[of.Format]
	if form == nil {
		return nil, nil, d.Errorf("format", "want one of %v", slices.Sorted(maps.Keys(compressedForms)))
	}
	for _, name := range []string{"kv_cache_scheme", "sparsity_config", "transform_config", "moe_sparsity_config"} {
		if !d.Empty(name) {
			return nil, nil, d.Errorf(name, "not supported")
		}
	}
	groups, err := d.Sub("config_groups")
	if err != nil {
		return nil, nil, err
	}
	var all scheme
	activations := false
	for _, name := range slices.Sorted(maps.Keys(groups.Fields)) {
		group, err := groups.Sub(name)
		if err != nil {
			return nil, nil, err
		}
		s, err := compressedGroup(group, of.Format, form)
		if err != nil {
			return nil, nil, err
		}
		if all != nil && !reflect.DeepEqual(s, all) {
			return nil, nil, groups.Errorf(name, "weights in another form than those of the groups before: not supported")
		}
		all, activations = s, activations || !group.Empty("input_activations")
	}
	if all == nil {
		return nil, nil, d.Errorf("config_groups", "want a group")
	}
	if activations {
		return all, []string{unroundedRows}, nil
	}
	return all, nil, nil
}

// compressedGroup returns the scheme of a group of modules.
func compressedGroup(group configuration.Document, format string, form func(weights configuration.Document) (scheme, error)) (scheme, error) {
	if err := group.Known(groupFields...); err != nil {
		return nil, err
	}
	switch {
	case !group.Empty("output_activations"):
		return nil, group.Errorf("output_activations", "not supported")
	case !group.Empty("format") && !group.Says("format", format):
		return nil, group.Errorf("format", "want that of all groups, %s", format)
	}
	weights, err := group.Sub("weights")
	if err != nil {
		return nil, err
	}
	if err := weights.Known(weightFields...); err != nil {
		return nil, err
	}
	return form(weights)
}

// intGroup returns the scheme of a group of config_groups.
func intGroup(d configuration.Document, form *intForm) (scheme, error) {
	of := struct {
		Bits      int    `json:"num_bits"`
		Type      string `json:"type"`
		Strategy  string `json:"strategy"`
		Group     *int   `json:"group_size"`
		Symmetric bool   `json:"symmetric"`
		Dynamic   bool   `json:"dynamic"`
	}{Bits: 8, Type: "int", Symmetric: true}
	if err := d.Decode(&of); err != nil {
		return nil, err
	}
	switch {
	case of.Type != "int":
		return nil, d.Errorf("type", "want int")
	case form == bytesForm && of.Bits != 8:
		return nil, d.Errorf("num_bits", "want 8")
	case of.Bits != 4 && of.Bits != 8:
		return nil, d.Errorf("num_bits", "want 4 or 8")
	case of.Dynamic:
		return nil, d.Errorf("dynamic", "want false")
	case !d.Empty("block_structure"):
		return nil, d.Errorf("block_structure", "not supported")
	}
	s := &intScheme{form: form, bits: of.Bits, noZeros: of.Symmetric}
	switch of.Strategy {
	case "channel":
	case "group":
		if of.Group == nil || *of.Group < 1 {
			return nil, d.Errorf("group_size", "want a number from 1 on")
		}
		s.group = *of.Group
	default:
		return nil, d.Errorf("strategy", "want channel or group")
	}
	return s, nil
}

var (
	// packedForm is that of compressed-tensors, pack-quantized: words have neighbours of a row, and
	// those of zeros neighbours of a column.
	packedForm = &intForm{
		words: ".weight_packed", scales: ".weight_scale", zeros: ".weight_zero_point", groups: ".weight_g_idx", shape: ".weight_shape",
		rows: func(shape []int, _ int) int { return shape[0] }, columns: func(shape []int, bits int) int { return shape[1] * perWord(bits) },
		zeroShape: func(rows, groups, bits int) []int { return []int{parts(rows, perWord(bits)), groups} },
		zero: func(row, group, across, bits int) (at, shift int) {
			return row/perWord(bits)*across + group, row % perWord(bits) * bits
		},
	}
	// bytesForm is that of compressed-tensors, int-quantized: bytes with a sign.
	bytesForm = &intForm{
		words: ".weight", scales: ".weight_scale", zeros: ".weight_zero_point", more: []string{".input_scale", ".input_zero_point"}, bytes: true,
		rows: func(shape []int, _ int) int { return shape[0] }, columns: func(shape []int, _ int) int { return shape[1] },
		zeroShape: func(rows, groups, _ int) []int { return []int{rows, groups} },
	}
)
