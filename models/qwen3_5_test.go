package models_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// stackedExperts returns the weights of a folder with the experts of a layer in two tensors, as
// Qwen3.5 is published.
func stackedExperts(t *testing.T, dir string, experts int) transformer.TensorMap {
	file := tftest.Must(safetensors.Open(filepath.Join(dir, "model.safetensors")))(t)
	defer file.Close()
	take := func(name string) safetensors.Tensor {
		info, _ := file.Info(name)
		return safetensors.Tensor{Shape: info.Shape, Data: tftest.Must(file.Float32(name))(t)}
	}
	first := regexp.MustCompile(`\.experts\.0\.(gate_proj|down_proj)\.weight$`)
	weights := transformer.TensorMap{}
	for _, name := range file.Names() {
		if !strings.Contains(name, ".experts.") {
			weights[name] = take(name)
		} else if part := first.FindStringSubmatch(name); part != nil {
			parts, to := []string{"down_proj"}, "down_proj"
			if part[1] == "gate_proj" {
				parts, to = []string{"gate_proj", "up_proj"}, "gate_up_proj"
			}
			stem, one := strings.TrimSuffix(name, part[0])+".experts.", take(name)
			stack := safetensors.Tensor{Shape: []int{experts, len(parts) * one.Shape[0], one.Shape[1]}}
			for i := range experts {
				for _, p := range parts {
					stack.Data = append(stack.Data, take(stem+strconv.Itoa(i)+"."+p+".weight").Data...)
				}
			}
			weights[stem+to] = stack
		}
	}
	return weights
}

// TestStackedExperts: experts of which a layer has two tensors give the bits of those with tensors
// of their own.
func TestStackedExperts(t *testing.T) {
	for _, folder := range []string{"qwen3_5_moe", "qwen3_5_moe_text", "qwen3_next"} {
		logits := func(m *models.Model) []float32 {
			x := make([]float32, 4*m.LM.Vocab())
			tftest.NoError(t, m.Logits(new(models.Workspace), x, []int{11, 45, 7, 30}, transformer.Ragged(4), nil, nil))
			return x
		}
		dir := filepath.Join(own, folder)
		weights := stackedExperts(t, dir, 5)
		config := tftest.Must(os.ReadFile(filepath.Join(dir, "config.json")))(t)
		stacked := tftest.Must(models.New(config, weights, models.Options{}))(t)
		if want := logits(tftest.Must(models.Open(dir, models.Options{}))(t)); !slices.Equal(logits(stacked), want) {
			t.Errorf("%s computes something else with stacked experts", folder)
		}
	}
}
