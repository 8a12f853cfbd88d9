// What other libraries were found to do is a module of its own, so that programs that import
// github.com/avoformer/avoformer do not download it.
module github.com/avoformer/avoformer/findings

go 1.26.0
