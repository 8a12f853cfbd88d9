package weightfile

import (
	"maps"
	"slices"

	"github.com/avoformer/avoformer/models/internal/configuration"
)

// Integers as auto-round exports them in its own format: those of GPTQ or AWQ, by packing_format.

var autoround = method{[]string{"quant_method", "bits", "group_size", "sym", "data_type", "packing_format", "extra_config", "act_bits", "super_bits", "static_kv_dtype", "static_attention_dtype", "rotation_configs", // decide numbers: read, or refused
	"act_group_size", "act_sym", "act_data_type", "act_dynamic", "super_group_size", "static_kv_granularity", "static_attention_granularity", // details of those above
	"autoround_version", "block_name_to_quantize", "amp", "batch_size", "enable_minmax_tuning", "enable_norm_bias_tuning", "enable_quanted_input", "gradient_accumulate_steps",
	"iters", "lr", "low_gpu_mem_usage", "minmax_lr", "nsamples", "quant_block_list", "scale_dtype", "seqlen", "supported_types", "backend", "dataset"}, autoroundScheme}

// autoroundForms are the values of packing_format whose integers are read. Zeros of auto_gptq are
// stored smaller by one.
var autoroundForms = map[string]intScheme{
	"auto_round": {form: gptqForm}, "auto_round:gptqmodel": {form: gptqForm},
	"auto_round:auto_gptq": {form: gptqForm, addOne: true}, "auto_round:gptq": {form: gptqForm, addOne: true},
	"auto_round:auto_awq": {form: awqForm},
}

// autoroundScheme returns what auto-round says.
func autoroundScheme(d configuration.Document) (scheme, []string, error) {
	of := struct {
		Bits    int    `json:"bits"`
		Group   int    `json:"group_size" min:"-1"`
		Data    string `json:"data_type"`
		Packing string `json:"packing_format"`
		Rows    int    `json:"act_bits"`
	}{Bits: 4, Group: 128, Data: "int", Packing: "auto_round:gptq", Rows: 16}
	if err := d.Decode(&of); err != nil {
		return nil, nil, err
	}
	for _, name := range []string{"super_bits", "static_kv_dtype", "static_attention_dtype", "rotation_configs"} {
		if !d.Empty(name) {
			return nil, nil, d.Errorf(name, "not supported")
		}
	}
	s, ok := autoroundForms[of.Packing]
	switch {
	case !ok:
		return nil, nil, d.Errorf("packing_format", "want one of %q", slices.Sorted(maps.Keys(autoroundForms)))
	case of.Bits != 2 && of.Bits != 4 && of.Bits != 8, s.form == awqForm && of.Bits != 4:
		return nil, nil, d.Errorf("bits", "want 2, 4 or 8, and 4 of auto_awq")
	case of.Data != "int":
		return nil, nil, d.Errorf("data_type", "want int")
	}
	if err := autoroundLayers(d); err != nil {
		return nil, nil, err
	}
	group, err := groupSize(d, of.Group)
	s.bits, s.group = of.Bits, group
	if of.Rows < 16 {
		return &s, []string{unroundedRows}, err
	}
	return &s, nil, err
}

// autoroundLayers returns an error about a layer that extra_config quantizes in another way. It may
// leave layers out: these have at least 16 bits.
func autoroundLayers(d configuration.Document) error {
	const extra = "extra_config"
	if d.Empty(extra) {
		return nil
	}
	layers, err := d.Sub(extra)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(layers.Fields)) {
		layer, err := layers.Sub(name)
		if err != nil {
			return err
		}
		var bits int
		if err := layer.Field("bits", &bits); err != nil || bits < 16 {
			return layers.Errorf(name, "layers of their own formats are not supported, except those of 16 bits")
		}
	}
	return nil
}
