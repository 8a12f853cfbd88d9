package weightfile

import (
	"encoding/binary"
	"encoding/json"

	"github.com/avoformer/avoformer/models/internal/configuration"
)

// Integers as GPTQModel and AutoGPTQ store them.

var gptq = method{[]string{"quant_method", "bits", "group_size", "checkpoint_format", "desc_act", "sym", "lm_head", "dynamic", "pack_dtype", "is_marlin_format", // of the weights
	"damp_percent", "damp_auto_increment", "static_groups", "true_sequential", "act_group_aware", "mse", "meta", "quantizer", "dataset", "tokenizer", "batch_size", "backend",
	"model_name_or_path", "model_file_base_name", "model_seqlen", "block_name_to_quantize", "module_name_preceding_first_block", "modules_in_block_to_quantize",
	"pad_token_id", "use_cuda_fp16", "use_exllama", "disable_exllama", "max_input_length", "exllama_config", "cache_block_outputs"}, gptqScheme}

// gptqScheme returns what GPTQ says.
func gptqScheme(d configuration.Document) (scheme, []string, error) {
	of := struct {
		Bits    int                        `json:"bits"`
		Group   int                        `json:"group_size" min:"-1"`
		Format  string                     `json:"checkpoint_format"`
		Pack    string                     `json:"pack_dtype"`
		Marlin  bool                       `json:"is_marlin_format"`
		Dynamic map[string]json.RawMessage `json:"dynamic"`
	}{Group: 128, Format: "gptq", Pack: "int32"}
	if err := d.Decode(&of); err != nil {
		return nil, nil, err
	}
	switch {
	case of.Bits != 2 && of.Bits != 4 && of.Bits != 8:
		return nil, nil, d.Errorf("bits", "want 2, 4 or 8")
	case of.Format != "gptq" && of.Format != "gptq_v2":
		return nil, nil, d.Errorf("checkpoint_format", "want gptq or gptq_v2")
	case of.Pack != "int32":
		return nil, nil, d.Errorf("pack_dtype", "want int32")
	case of.Marlin:
		return nil, nil, d.Errorf("is_marlin_format", "want false")
	case len(of.Dynamic) > 0:
		return nil, nil, d.Errorf("dynamic", "not supported: modules of their own formats")
	}
	group, err := groupSize(d, of.Group)
	return &intScheme{form: gptqForm, bits: of.Bits, group: group, addOne: of.Format == "gptq"}, nil, err
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

// gptqForm has neighbours of an output's inputs in a word, and zeros of neighbouring outputs.
var gptqForm = &intForm{
	words: ".qweight", scales: ".scales", zeros: ".qzeros", groups: ".g_idx", turn: true,
	rows: func(shape []int, _ int) int { return shape[1] }, columns: func(shape []int, bits int) int { return shape[0] * perWord(bits) },
	zeroShape: func(rows, groups, bits int) []int { return []int{groups, parts(rows, perWord(bits))} },
	turned: func(t *ints, words []byte) []byte {
		out := make([]byte, len(words))
		for i := range t.across() {
			for row := range t.rows {
				binary.LittleEndian.PutUint32(out[4*(row*t.across()+i):], word(words, i*t.rows+row))
			}
		}
		return out
	},
	zero: func(row, group, across, bits int) (at, shift int) {
		return group*across + row/perWord(bits), row % perWord(bits) * bits
	},
}
