package weightfile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/avoformer/avoformer/models/internal/configuration"
)

// What quantization_config says of weights.

// quantization is the field of config.json that says how weights are quantized.
const quantization = "quantization_config"

// methods are what the files of this package read.
var methods = map[string]method{"fp8": fp8, "compressed-tensors": compressed, "awq": awq, "gptq": gptq, "bitsandbytes": bitsandbytes, "torchao": torchao, "auto-round": autoround}

// JoinQuantized puts matrices in place of integers or codes of few bits with their scales, if
// quantization_config says that there are such. It returns the configuration of the model with
// these matrices, and warnings.
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
	}{}
	if err := d.Decode(&of); err != nil {
		return doc, nil, err
	}
	m, ok := methods[of.Method]
	if !ok {
		return doc, nil, nil // the architecture's to read
	}
	if err := d.Known(m.fields...); err != nil {
		return doc, nil, err
	}
	s, warnings, err := m.scheme(d)
	if err != nil {
		return doc, nil, err
	}
	n, err := s.joinAll(w)
	if err != nil {
		return doc, nil, err
	}
	w.names = slices.Sorted(maps.Keys(w.of))
	if n.wide > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d quantized matrices are held in float32, 4 bytes a weight, since no other format has the same numbers; another format of weights, such as int8 or q4_1, rounds them", n.wide, n.all))
	}
	if n.halves > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d quantized matrices are held in float32, 4 bytes a weight, unless another format of weights is asked for; 16 bits hold the same numbers", n.halves, n.all))
	}
	return doc.Without(quantization), warnings, nil
}
