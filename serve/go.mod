module github.com/avoformer/avoformer/serve

go 1.26.0

require (
	github.com/avoformer/avoformer v0.1.0
	github.com/avoformer/avoformer/text v0.1.0
	github.com/avoformer/avoformer/text/sound v0.1.0
)

require (
	github.com/jfreymuth/vorbis v1.0.2 // indirect
	github.com/icza/bitio v1.1.0 // indirect
	github.com/mewkiz/flac v1.0.14 // indirect
	github.com/mewkiz/pkg v0.0.0-20250417130911-3f050ff8c56d // indirect
	github.com/mewpkg/term v0.0.0-20241026122259-37a80af23985 // indirect
	github.com/pion/opus v0.1.0 // indirect
)

require (
	golang.org/x/image v0.46.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
