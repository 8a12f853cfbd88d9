module github.com/avoformer/avoformer/scripts/schemas

go 1.26.0

require (
	github.com/avoformer/avoformer v0.1.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
)

require golang.org/x/text v0.43.0 // indirect

replace github.com/avoformer/avoformer => ../..
