// The tokenizers of the tests are a module of their own, so that programs that import
// github.com/avoformer/avoformer/text do not download them.
module github.com/avoformer/avoformer/text/tokenizer/testdata

go 1.26.0
