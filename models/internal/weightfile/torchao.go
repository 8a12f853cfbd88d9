package weightfile

import (
	"slices"
	"strings"

	"github.com/avoformer/avoformer/models/internal/configuration"
)

// Integers as torchao flattens its tensors into a file: X._weight_qdata, a byte each, with scales
// and zeros of [rows, groups]. The metadata of the file say the same of each tensor as the types of
// the parts and quant_type do, and are not read.

var torchao = method{[]string{"quant_method", "quant_type", "modules_to_not_convert", "include_input_output_embeddings", "untie_embedding_weights"}, torchaoScheme}

// torchaoForm is where torchao has the parts of a matrix.
var torchaoForm = &intForm{
	words: "._weight_qdata", scales: "._weight_scale", zeros: "._weight_zero_point", bytes: true, counted: true,
	rows: func(shape []int, _ int) int { return shape[0] }, columns: func(shape []int, _ int) int { return shape[1] },
	zeroShape: func(rows, groups, _ int) []int { return []int{rows, groups} },
}

// torchaoTypes are the configurations whose weights are such integers, with their fields that are
// read or say nothing about stored weights.
var torchaoTypes = map[string][]string{
	"Int8WeightOnlyConfig":                  {"granularity", "group_size", "set_inductor_config"},
	"Int8DynamicActivationInt8WeightConfig": {"granularity", "act_mapping_type", "reduce_range", "set_inductor_config", "weight_only_decode", "layout"},
	"IntxWeightOnlyConfig":                  {"weight_dtype", "granularity", "mapping_type", "scale_dtype", "intx_packing_format", "intx_choose_qparams_algorithm"},
	"Int8DynamicActivationIntxWeightConfig": {"weight_dtype", "weight_granularity", "weight_mapping_type", "weight_scale_dtype", "act_mapping_type",
		"intx_packing_format", "intx_choose_qparams_algorithm"},
}

// torchaoScheme returns what torchao says.
func torchaoScheme(d configuration.Document) (scheme, []string, error) {
	types, err := d.Sub("quant_type")
	if err != nil {
		return nil, nil, err
	}
	if err := types.Known("default"); err != nil {
		return nil, nil, err
	}
	of, err := types.Sub("default")
	if err != nil {
		return nil, nil, err
	}
	about := struct {
		Type    string `json:"_type"`
		Version int    `json:"_version"`
	}{Version: 1}
	if err := of.Decode(&about); err != nil {
		return nil, nil, err
	}
	known, ok := torchaoTypes[about.Type]
	switch {
	case about.Type == "Int4WeightOnlyConfig":
		return nil, nil, of.Errorf("_type", "its integers share bytes, in a layout that depends on int4_packing_format: want IntxWeightOnlyConfig with weight_dtype int4")
	case !ok:
		return nil, nil, of.Errorf("_type", "want integers with a byte each")
	case about.Version != 2:
		return nil, nil, of.Errorf("_version", "want 2")
	}
	fields, err := of.Sub("_data")
	if err != nil {
		return nil, nil, err
	}
	if err := fields.Known(known...); err != nil {
		return nil, nil, err
	}
	s := &intScheme{form: torchaoForm, bits: 8}
	if slices.Contains(known, "weight_dtype") {
		if s.bits, err = torchaoBits(fields); err != nil {
			return nil, nil, err
		}
	}
	if strings.Contains(about.Type, "DynamicActivation") {
		return s, []string{unroundedRows}, nil
	}
	return s, nil, nil
}

// torchaoBits returns the bits of integers, which take a byte each all the same.
func torchaoBits(fields configuration.Document) (int, error) {
	const packing = "intx_packing_format"
	if fields.Has(packing) {
		form, err := fields.Sub(packing)
		if err != nil {
			return 0, err
		}
		if !form.Says("_data", "UNPACKED_TO_INT8") {
			return 0, form.Errorf("_data", "want UNPACKED_TO_INT8")
		}
	}
	kind, err := fields.Sub("weight_dtype")
	if err != nil {
		return 0, err
	}
	for bits := 1; bits <= 8; bits++ {
		if kind.Says("_data", "int"+string(rune('0'+bits))) {
			return bits, nil
		}
	}
	return 0, kind.Errorf("_data", "want int1 to int8")
}
