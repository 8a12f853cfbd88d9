// The models of the examples are a module of their own, so that programs that import
// github.com/avoformer/avoformer/text do not download them.
module github.com/avoformer/avoformer/text/examples/models

go 1.26.0
