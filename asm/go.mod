module github.com/avoformer/avoformer/asm

go 1.26.0

require (
	github.com/avoformer/avoformer v0.0.0-00010101000000-000000000000
	github.com/mmcloughlin/avo v0.6.0
	golang.org/x/arch v0.32.0
	golang.org/x/sync v0.24.0
)

require (
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)

replace github.com/avoformer/avoformer => ../
