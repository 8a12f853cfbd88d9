// The programs in Python are a module of their own, so that programs that import Go packages of the module around it do not
// download them.
module github.com/avoformer/avoformer/scripts/tiny

go 1.26.0
