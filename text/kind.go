// This file has the kinds of pipelines.

package text

// Kind is the kind of a pipeline. [Kinds] returns all of them.
type Kind string

// KindInfo describes a kind.
type KindInfo struct {
	Type    string   // the Go type of its pipelines, such as "Embedder"
	Task    string   // the task of its models on the hub, such as "sentence-similarity"
	Command string   // the subcommand of avoformer that uses it, such as "embed"; "" if there is none
	Images  bool     // its pipelines take images, and have no tokens
	Options []string // the options that it takes, in addition to those that all kinds take
}
