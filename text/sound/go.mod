module github.com/avoformer/avoformer/text/sound

go 1.26.0

require (
	github.com/avoformer/avoformer v0.1.0
	github.com/avoformer/avoformer/text v0.1.0
	github.com/jfreymuth/vorbis v1.0.2
	github.com/mewkiz/flac v1.0.14
	github.com/pion/opus v0.1.0
)

require (
	github.com/icza/bitio v1.1.0 // indirect
	github.com/mewkiz/pkg v0.0.0-20250417130911-3f050ff8c56d // indirect
	github.com/mewpkg/term v0.0.0-20241026122259-37a80af23985 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
