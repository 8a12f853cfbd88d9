// The pages of measurements are a module of their own, so that programs that import
// github.com/avoformer/avoformer do not download them.
module github.com/avoformer/avoformer/doc/measurements

go 1.26.0
