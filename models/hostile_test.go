package models_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
)

// read lists the files of a folder that Open reads.
func read(m fstest.MapFS) []string {
	var names []string
	for name := range m {
		switch path.Base(name) {
		case "preprocessor_config.json", "tokenizer.json", "tokenizer_config.json", "dequantized.json": // the last has sums for tests
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// chosen is whether a case of thousands runs: one of some, fewer if tests are to be short, and more
// in make test-all. FuzzFolder takes the others.
func chosen(i int) bool {
	if testing.Short() || race.Enabled {
		return i%53 == 0
	}
	return i%15 == 0 || testenv.Long() && i%3 == 0
}

// eachFolder runs a test for each folder, side by side. Cases are counted from n on.
func eachFolder(t *testing.T, test func(t *testing.T, name string, m fstest.MapFS, n int)) {
	for i, name := range modelstest.Folders(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name, modelstest.Folder(t, name), i)
		})
	}
}

// TestTruncatedFiles cuts off each file of each folder, and expects errors that name it.
func TestTruncatedFiles(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("too slow in an emulator, and no kernel runs")
	}
	eachFolder(t, func(t *testing.T, name string, m fstest.MapFS, n int) {
		tftest.NoError(t, modelstest.Open(t, name, m))
		for _, file := range read(m) {
			data := m[file].Data
			for _, length := range []int{0, 1, 7, 9, len(data) / 2, len(data) - 1} {
				if n++; !chosen(n) || strings.HasSuffix(file, ".json") && len(bytes.TrimSpace(data[length:])) == 0 {
					continue
				}
				what := fmt.Sprintf("%s: %s of %d bytes instead of %d", name, file, length, len(data))
				if err := modelstest.Open(t, what, modelstest.With(m, file, data[:length])); err == nil || !strings.Contains(err.Error(), file) {
					t.Errorf("%s: error %v, want one that names the file", what, err)
				}
			}
			if n++; !chosen(n) || mayLack(name, file) {
				continue
			}
			without := maps.Clone(m)
			delete(without, file)
			if err := modelstest.Open(t, name, without); err == nil || !strings.Contains(err.Error(), file) {
				t.Errorf("%s without %s: error %v, want one that names it", name, file, err)
			}
		}
	})
}

// mayLack reports whether a folder without a file is one of another kind, or as good.
func mayLack(name, file string) bool {
	switch file {
	case "generation_config.json", "sentence_bert_config.json", "modules.json", "sparse_linear.pt", "colbert_linear.pt", "config_sentence_transformers.json":
		return true
	}
	return file == "config.json" && strings.HasPrefix(name, "model2vec")
}

// otherValues are of all types and sizes.
var otherValues = []any{nil, true, false, "", "text", -1, 0, 1, 3, 1.5, int64(1 << 31), json.Number("1000000000000000000"), json.Number("1e300"),
	json.Number("123456789012345678901234567890"), []any{}, []any{1, 2}, []any{"a"}, map[string]any{}, map[string]any{"a": 1}}

// TestOtherTypes replaces each value in each JSON file by values of all types. There is a model, or
// an error that names a file.
func TestOtherTypes(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("too slow in an emulator, and no kernel runs")
	}
	eachFolder(t, func(t *testing.T, name string, m fstest.MapFS, n int) {
		for _, file := range read(m) {
			if path.Ext(file) != ".json" {
				continue
			}
			var doc any
			tftest.NoError(t, json.Unmarshal(m[file].Data, &doc))
			values(doc, func(v any) { doc = v }, file, func(at string, set func(v any)) {
				for _, v := range otherValues {
					if n++; !chosen(n) {
						continue
					}
					set(v)
					text := tftest.Must(json.Marshal(doc))(t)
					what := fmt.Sprintf("%s: %s = %v", name, at, v)
					if err := modelstest.Open(t, what, modelstest.With(m, file, text)); err != nil && !strings.Contains(err.Error(), ".json") && !strings.Contains(err.Error(), ".safetensors") {
						t.Errorf("%s: error %v names no file", what, err)
					}
				}
			})
		}
	})
}

// values calls f for every value in a document, with a function that replaces it. The old value is
// put back after f.
func values(v any, set func(any), at string, f func(at string, set func(v any))) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			values(v[key], func(x any) { v[key] = x }, at+"."+key, f)
		}
	case []any:
		for i := range v {
			values(v[i], func(x any) { v[i] = x }, fmt.Sprintf("%s[%d]", at, i), f)
		}
	}
	f(at, set)
	set(v)
}

// unread reports whether no part of a model asks for a tensor of a file that has those of doc.
func unread(tensor string, doc map[string]any) bool {
	has := func(name string) bool { return doc[name] != nil }
	switch {
	case strings.HasSuffix(tensor, "coder.embed_tokens.weight"): // a copy, as are the next two
		return has("shared.weight") || has("model.shared.weight")
	case tensor == "cls.predictions.bias", tensor == "predictions.bias":
		return has(strings.TrimSuffix(tensor, "bias") + "decoder.bias")
	case has("mask_predictions.dense.weight"): // DeBERTa as its authors publish it, without a head
		return strings.Contains(tensor, "_predictions.") || strings.HasSuffix(tensor, "position_embeddings.weight")
	case strings.HasSuffix(tensor, ".bias") && strings.Contains(tensor, "attn"):
		return true
	}
	return slices.ContainsFunc([]string{
		"EncDecAttention.relative_attention_bias", "position_ids", "masked_bias", "attention.bias",
		"sop_classifier.", "discriminator_predictions.", "embeddings.mask_token", "embeddings.register_tokens", "num_batches_tracked", "masked_spec_embed", ".input_scale", "vision_tower.", "multi_modal_projector.", "model.vision_model.", "model.connector.", "audio_tower.", "embed_vision.", "embed_audio.", "visual.", "merger.",
	}, func(part string) bool { return strings.Contains(tensor, part) })
}

// TestContradictingShapes gives each tensor other shapes, types and places.
func TestContradictingShapes(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("too slow in an emulator, and no kernel runs")
	}
	eachFolder(t, func(t *testing.T, name string, m fstest.MapFS, n int) {
		for _, file := range read(m) {
			if path.Ext(file) != ".safetensors" {
				continue
			}
			length := binary.LittleEndian.Uint64(m[file].Data)
			data := m[file].Data[8+length:]
			var doc map[string]any
			tftest.NoError(t, json.Unmarshal(m[file].Data[8:8+length], &doc))
			for _, tensor := range slices.Sorted(maps.Keys(doc)) {
				if tensor == "__metadata__" {
					continue
				}
				entry := doc[tensor].(map[string]any)
				shape, places := entry["shape"].([]any), entry["data_offsets"].([]any)
				changes := map[string]map[string]any{
					"one more axis":  {"shape": append([]any{1}, shape...)},
					"no axis":        {"shape": []any{}},
					"huge":           {"shape": []any{int64(1 << 40), int64(1 << 40)}},
					"negative":       {"shape": []any{-1, -4}},
					"unknown type":   {"dtype": "F4"},
					"integers":       {"dtype": "I32"},
					"overlapping":    {"data_offsets": []any{0, places[1]}},
					"beyond the end": {"data_offsets": []any{places[0], int64(1 << 50)}},
				}
				for _, what := range slices.Sorted(maps.Keys(changes)) {
					change := changes[what]
					if n++; !chosen(n) {
						continue
					}
					other := maps.Clone(doc)
					other[tensor] = maps.Clone(entry)
					maps.Copy(other[tensor].(map[string]any), change)
					text := tftest.Must(json.Marshal(other))(t)
					file2 := slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, data)
					what := fmt.Sprintf("%s: %s of %s %s", name, tensor, file, what)
					err := modelstest.Open(t, what, modelstest.With(m, file, file2))
					same := bytes.Equal(tftest.Must(json.Marshal(other[tensor]))(t), tftest.Must(json.Marshal(entry))(t))
					_, axes := change["shape"]
					scalar := axes && strings.HasSuffix(tensor, ".weight_scale") && len(shape) == 1 && shape[0] == 1.0 // with any axes of 1
					scalar = scalar || axes && strings.HasSuffix(tensor, ".weight_format")                             // of bitsandbytes: one number, with any axes
					integers := change["dtype"] == "I32" && tensor == "embeddings"                                     // Model2Vec quantizes its vectors
					ignored := unread(tensor, doc) || scalar || integers
					if err == nil && !same && !ignored || err != nil && !strings.Contains(err.Error(), "safetensors") {
						t.Errorf("%s: error %v, want one that names the file", what, err)
					}
				}
			}
		}
	})
}

// TestIndexes spoils the index of shards.
func TestIndexes(t *testing.T) {
	const index = "model.safetensors.index.json"
	m := modelstest.Folder(t, "llama-rope3-new")
	var doc map[string]any
	tftest.NoError(t, json.Unmarshal(m[index].Data, &doc))
	right := doc["weight_map"].(map[string]any)
	tensor := slices.Sorted(maps.Keys(right))[0]
	for what, change := range map[string]map[string]any{
		"a shard that is missing":   {tensor: "model-00009-of-00009.safetensors"},
		"a tensor in no shard":      {"made.up": right[tensor]},
		"a shard elsewhere":         {tensor: "../model-00001-of-00003.safetensors"},
		"an absolute path":          {tensor: "/etc/passwd"},
		"a shard without name":      {tensor: ""},
		"a shard that is the index": {tensor: index},
	} {
		spoilt := maps.Clone(right)
		maps.Copy(spoilt, change)
		text := tftest.Must(json.Marshal(map[string]any{"weight_map": spoilt}))(t)
		if err := modelstest.Open(t, what, modelstest.With(m, index, text)); err == nil || !strings.Contains(err.Error(), "safetensors") {
			t.Errorf("%s: error %v, want one that names the file", what, err)
		}
	}
	var shards []string
	for file := range m {
		if path.Ext(file) == ".safetensors" {
			shards = append(shards, file)
		}
	}
	double := modelstest.With(m, shards[1], m[shards[0]].Data)
	if err := modelstest.Open(t, "a shard twice", double); err == nil || !strings.Contains(err.Error(), "another shard") {
		t.Errorf("a shard twice: error %v", err)
	}
	for _, layers := range []string{"1000000000000000000", "2147483647"} {
		config := bytes.Replace(m["config.json"].Data, []byte(`"num_hidden_layers": 2`), []byte(`"num_hidden_layers": `+layers), 1)
		if err := modelstest.Open(t, layers+" layers", modelstest.With(m, "config.json", config)); err == nil || bytes.Equal(config, m["config.json"].Data) {
			t.Errorf("%s layers: error %v", layers, err)
		}
	}
}

// FuzzFolder changes some bytes of one of the files of a folder.
func FuzzFolder(f *testing.F) {
	names := modelstest.Folders(f)
	for i := range names {
		f.Add(uint16(i), uint64(i), uint8(1+i%4))
	}
	f.Fuzz(func(t *testing.T, which uint16, seed uint64, changes uint8) {
		m := modelstest.Folder(t, names[int(which)%len(names)])
		r := rand.New(rand.NewPCG(seed, 0))
		files := read(m)
		file := files[r.IntN(len(files))]
		data := bytes.Clone(m[file].Data)
		for range changes {
			at := r.IntN(min(len(data), 1<<12)) // in front is what has structure
			switch r.IntN(4) {
			case 0:
				data[at] = byte(r.Uint32())
			case 1:
				data[at] = "0123456789-\"{}[]:,.e"[r.IntN(20)]
			case 2:
				data = slices.Delete(data, at, min(at+1+r.IntN(8), len(data)))
			default:
				data = slices.Insert(data, at, byte("0123456789-\"{}[]:,.e"[r.IntN(20)]))
			}
			if len(data) == 0 {
				break
			}
		}
		modelstest.Open(t, file, modelstest.With(m, file, data))
	})
}
