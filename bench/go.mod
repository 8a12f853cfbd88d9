module github.com/avoformer/avoformer/bench

go 1.26.0

require github.com/avoformer/avoformer v0.0.0

require golang.org/x/sys v0.49.0 // indirect

replace github.com/avoformer/avoformer => ../
