// The golden files are a module of their own, so that those who import
// github.com/avoformer/avoformer do not download them.
module github.com/avoformer/avoformer/models/classic/testdata/golden

go 1.26.0
