// What fuzzing found is a module of its own, so that programs that import
// github.com/avoformer/avoformer do not download it.
module github.com/avoformer/avoformer/transformer/safetensors/testdata/fuzz

go 1.26.0
