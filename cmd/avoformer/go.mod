module github.com/avoformer/avoformer/cmd/avoformer

go 1.26.0

require (
	github.com/avoformer/avoformer v0.1.0
	github.com/avoformer/avoformer/text v0.1.0
)

require (
	golang.org/x/image v0.46.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)
