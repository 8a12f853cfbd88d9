// The examples are a module of their own, so that programs that import
// github.com/avoformer/avoformer do not download their model.
module github.com/avoformer/avoformer/examples

go 1.26.0

require github.com/avoformer/avoformer v0.1.0

require golang.org/x/sys v0.49.0 // indirect
