module github.com/avoformer/avoformer/text

go 1.26.0

require (
	github.com/avoformer/avoformer v0.1.0
	golang.org/x/image v0.46.0
	golang.org/x/sys v0.49.0
	golang.org/x/text v0.43.0
)
