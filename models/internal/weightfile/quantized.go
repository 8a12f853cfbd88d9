package weightfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/avoformer/avoformer/models/internal/configuration"
)

// What quantization_config says of weights.

// quantization is the field of config.json that says how weights are quantized.
const quantization = "quantization_config"

// fieldsOf are the fields of quantization_config that are read, or say nothing about weights, by quant_method.
var fieldsOf = map[string][]string{
	"fp8": {"quant_method", "weight_block_size", "activation_scheme", "fmt", "scale_fmt", "modules_to_not_convert", "modules_to_convert", "ignored_layers", "dequantize", "expert_dtype"},
	"compressed-tensors": {"quant_method", "format", "config_groups", "kv_cache_scheme", "sparsity_config", "transform_config", "ignore",
		"quantization_status", "global_compression_ratio", "version"},
	"awq": {"quant_method", "bits", "group_size", "zero_point", "version", "modules_to_not_convert", "do_fuse", "fuse_max_seq_len", "modules_to_fuse", "exllama_config", "backend"},
	"gptq": {"quant_method", "bits", "group_size", "checkpoint_format", "desc_act", "sym", "lm_head", "dynamic", "pack_dtype", "is_marlin_format", // of the weights
		"damp_percent", "damp_auto_increment", "static_groups", "true_sequential", "act_group_aware", "mse", "meta", "quantizer", "dataset", "tokenizer", "batch_size", "backend",
		"model_name_or_path", "model_file_base_name", "model_seqlen", "block_name_to_quantize", "module_name_preceding_first_block", "modules_in_block_to_quantize",
		"pad_token_id", "use_cuda_fp16", "use_exllama", "disable_exllama", "max_input_length", "exllama_config", "cache_block_outputs"},
}

// JoinQuantized puts matrices in place of integers or numbers of 8 bits with their scales, if quantization_config says that there are such. It returns the
// configuration of the model with these matrices, and warnings.
func (w *files) JoinQuantized(doc configuration.Document) (configuration.Document, []string, error) {
	if doc.Empty(quantization) {
		return doc, nil, nil
	}
	d, err := doc.Unaccounted().Sub(quantization)
	if err != nil {
		return doc, nil, err
	}
	of := struct {
		Method string `json:"quant_method"`
		Format string `json:"format"`
	}{}
	if err := d.Decode(&of); err != nil {
		return doc, nil, err
	}
	known := fieldsOf[of.Method]
	if known == nil {
		return doc, nil, nil // the architecture's to read
	}
	for _, name := range slices.Sorted(maps.Keys(d.Fields)) {
		if !slices.Contains(known, name) {
			return doc, nil, d.Errorf(name, "not supported of quant_method %s", of.Method)
		}
	}
	var warnings []string
	var ints *intScheme
	var eights *fp8Scheme
	switch of.Method {
	case "awq":
		ints, err = awqScheme(d)
	case "gptq":
		ints, err = gptqScheme(d)
	case "compressed-tensors":
		eights, ints, warnings, err = compressedScheme(d, of.Format)
	default:
		eights, err = fp8Of(d)
	}
	if err != nil {
		return doc, nil, err
	}
	if eights != nil {
		err = w.joinFP8(eights)
	} else {
		var all, wide int
		if all, wide, err = w.joinInts(ints); wide > 0 {
			warnings = append(warnings, fmt.Sprintf("%d of %d matrices of integers are held in float32, 4 bytes a weight, since no format of blocks has the same numbers; another format of weights, such as int8 or q4_1, rounds them", wide, all))
		}
	}
	return doc.Without(quantization), warnings, err
}

// awqScheme returns what AWQ says.
func awqScheme(d configuration.Document) (*intScheme, error) {
	of := struct {
		Bits    int    `json:"bits"`
		Group   int    `json:"group_size" min:"-1"`
		Version string `json:"version"`
	}{Bits: 4, Group: 128, Version: "gemm"}
	if err := d.Decode(&of); err != nil {
		return nil, err
	}
	switch {
	case of.Bits != 4:
		return nil, d.Errorf("bits", "want 4")
	case of.Version != "gemm":
		return nil, d.Errorf("version", "want gemm")
	}
	group, err := groupSize(d, of.Group)
	return &intScheme{form: awqForm, bits: of.Bits, group: group}, err
}

// gptqScheme returns what GPTQ says.
func gptqScheme(d configuration.Document) (*intScheme, error) {
	of := struct {
		Bits    int                        `json:"bits"`
		Group   int                        `json:"group_size" min:"-1"`
		Format  string                     `json:"checkpoint_format"`
		Pack    string                     `json:"pack_dtype"`
		Marlin  bool                       `json:"is_marlin_format"`
		Dynamic map[string]json.RawMessage `json:"dynamic"`
	}{Group: 128, Format: "gptq", Pack: "int32"}
	if err := d.Decode(&of); err != nil {
		return nil, err
	}
	switch {
	case of.Bits != 2 && of.Bits != 4 && of.Bits != 8:
		return nil, d.Errorf("bits", "want 2, 4 or 8")
	case of.Format != "gptq" && of.Format != "gptq_v2":
		return nil, d.Errorf("checkpoint_format", "want gptq or gptq_v2")
	case of.Pack != "int32":
		return nil, d.Errorf("pack_dtype", "want int32")
	case of.Marlin:
		return nil, d.Errorf("is_marlin_format", "want false")
	case len(of.Dynamic) > 0:
		return nil, d.Errorf("dynamic", "not supported: modules of their own formats")
	}
	group, err := groupSize(d, of.Group)
	return &intScheme{form: gptqForm, bits: of.Bits, group: group, addOne: of.Format == "gptq"}, err
}

// groupSize returns the columns of a group, 0 for all.
func groupSize(d configuration.Document, n int) (int, error) {
	if n == -1 {
		return 0, nil
	}
	if n < 1 {
		return 0, d.Errorf("group_size", "want -1, or a number from 1 on")
	}
	return n, nil
}

// compressedScheme returns what compressed-tensors says: one of the two schemes.
func compressedScheme(d configuration.Document, format string) (*fp8Scheme, *intScheme, []string, error) {
	forms := map[string]*intForm{"pack-quantized": packedForm, "int-quantized": bytesForm, "float-quantized": nil}
	form, ok := forms[format]
	if !ok {
		return nil, nil, nil, d.Errorf("format", "want float-quantized, int-quantized or pack-quantized")
	}
	for _, name := range []string{"kv_cache_scheme", "sparsity_config", "transform_config"} {
		if !d.Empty(name) {
			return nil, nil, nil, d.Errorf(name, "not supported")
		}
	}
	groups, err := d.Sub("config_groups")
	if err != nil {
		return nil, nil, nil, err
	}
	var scheme *intScheme
	activations := false
	for _, name := range slices.Sorted(maps.Keys(groups.Fields)) {
		group, err := groups.Sub(name)
		if err != nil {
			return nil, nil, nil, err
		}
		if !group.Empty("output_activations") {
			return nil, nil, nil, group.Errorf("output_activations", "not supported")
		}
		activations = activations || form != nil && !group.Empty("input_activations")
		weights, err := group.Sub("weights")
		if err != nil {
			return nil, nil, nil, err
		}
		if form == nil {
			if err := fp8Group(weights); err != nil {
				return nil, nil, nil, err
			}
			continue
		}
		s, err := intGroup(weights, form)
		if err != nil {
			return nil, nil, nil, err
		}
		if scheme != nil && *scheme != *s {
			return nil, nil, nil, groups.Errorf(name, "weights in other integers than those of the groups before: not supported")
		}
		scheme = s
	}
	if form == nil {
		return &fp8Scheme{scale: "_scale", perRow: true}, nil, nil, nil
	}
	if scheme == nil {
		return nil, nil, nil, d.Errorf("config_groups", "want a group")
	}
	var warnings []string
	if activations {
		warnings = []string{"quantization_config asks for integers of activations, too: they are not rounded as it says"}
	}
	return nil, scheme, warnings, nil
}

// intGroup returns the scheme of a group of config_groups.
func intGroup(d configuration.Document, form *intForm) (*intScheme, error) {
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
