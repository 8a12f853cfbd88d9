package hub

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// small lists patterns of the files, other than weights, that a part of this module reads.
var small = []string{
	"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
	"vocab.json", "vocab.txt", "merges.txt", "*.model", "*.spm", "*.bpe", "tekken.json", "*.tiktoken", "chat_template.*", "additional_chat_templates/*.jinja",
	"preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json",
	"modules.json", "sentence_*_config.json", "config_sentence_transformers.json",
	"*_*/config.json", // 1_Pooling, 2_Dense
	"*_StaticEmbedding/tokenizer.json",
	"sparse_linear.pt", "colbert_linear.pt", // BGE-M3's
	"adapters/*/adapter_config.json", "adapters/*/adapter_model.safetensors", // one for each task
}

// weights lists patterns of each form of a model's weights. Needed chooses the first form that a
// folder has.
var weights = [][]string{
	{"model.safetensors"},
	{"model.safetensors.index.json", "model-*-of-*.safetensors"},
	{"pytorch_model.bin"},
	{"pytorch_model.bin.index.json", "pytorch_model-*-of-*.bin"},
}

// module matches the folder of a module of sentence-transformers, such as 2_Dense. Such a folder
// may have weights of its own.
var module = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+_[A-Za-z]+$`) })

// Needed returns the files of a repository that are needed to open it as a model: the
// configuration, the tokenizer, and the weights in one form, which is safetensors if the repository
// has it. Without config.json (which a module StaticEmbedding does not need), it returns the
// configuration and the weights of an adapter, or nothing if there is none.
func Needed(files []string) []string {
	static := func(f string) bool { return matches(f, []string{"*_StaticEmbedding/tokenizer.json"}) }
	if !slices.Contains(files, "config.json") && !slices.ContainsFunc(files, static) {
		return adapter(files)
	}
	needed := map[string]bool{}
	for _, f := range files {
		needed[f] = matches(f, small)
	}
	for _, dir := range folders(files) {
		for _, form := range weights {
			patterns := make([]string, len(form))
			for i, p := range form {
				patterns[i] = path.Join(dir, p)
			}
			if !slices.Contains(files, patterns[0]) {
				continue
			}
			for _, f := range files {
				needed[f] = needed[f] || matches(f, patterns)
			}
			break
		}
	}
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !needed[f] })
}

// adapter returns the files of a low-rank adapter, if the repository holds one.
func adapter(files []string) []string {
	if config := "adapter_config.json"; slices.Contains(files, config) {
		for _, weights := range []string{"adapter_model.safetensors", "adapter_model.bin"} {
			if slices.Contains(files, weights) {
				return []string{config, weights}
			}
		}
	}
	return nil
}

// folders returns the folders that may have weights: the repository itself, and those of modules.
func folders(files []string) []string {
	dirs := []string{""}
	for _, f := range files {
		if dir, _, ok := strings.Cut(f, "/"); ok && module().MatchString(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func matches(file string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, file)
		return ok
	})
}
