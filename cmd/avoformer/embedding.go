// This file has the flags and options of embed, and computes vectors.

package main

import (
	"context"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text"
)

// embedding has the flags of embed.
type embedding struct {
	threads, batch, length, dim int
	prompt, nearest, format     string
	pooling                     string
	out, stream                 string
	split                       int
	refuse, overwrite           bool
	check, json                 bool
	k                           int
	weights                     string
	replicas                    replicas
	adapters                    *adapters
	adapted                     []models.Adapter
}

// modelFlags adds the flags that affect vectors.
func (e *embedding) modelFlags(f *flags) {
	f.StringVar(&e.prompt, "prompt", "", "`name` of a prompt in the folder; query and document are always known, and also set the length of texts if the folder has one for each")
	f.StringVar(&e.pooling, "pooling", "", "how hidden states become a vector if the folder does not say it: `mode` cls, lasttoken, max, mean, mean_sqrt_len_tokens or weightedmean; default: mean, or lasttoken for a language model")
	f.IntVar(&e.dim, "dim", 0, "cut vectors to this length and scale them to length 1 again")
	f.IntVar(&e.length, "max-length", 0, "most tokens of a text")
	f.IntVar(&e.split, "split", -1, "split texts that are too long into windows that overlap by so many `tokens`, and average their vectors; negative: do not split")
	f.BoolVar(&e.refuse, "refuse", false, "report an error for texts that are too long, instead of cutting them off")
	f.IntVar(&e.threads, "threads", 0, "most threads; default: one for each core")
	f.Var(&e.replicas, "replicas", replicasUsage)
	f.IntVar(&e.batch, "batch-tokens", 0, "most tokens in a batch")
	f.StringVar(&e.weights, "weights", stored, weightsUsage)
	e.adapters = f.adapters()
	f.memoryLimit()
	f.asWritten()
}

// toFile reports whether the vectors go to a file.
func (e *embedding) toFile() bool { return e.out != "" && e.out != "-" }

// plan returns the format of the output, or an error if flags contradict each other.
func (e *embedding) plan(f *flags) (format, error) {
	format, err := formatOf(e.format, e.out)
	switch {
	case err != nil:
	case e.nearest == "" && f.given("nearest"): // such as a variable that is not set in the shell
		err = usagef("-nearest needs a text; it is empty")
	case e.check && e.nearest != "", (e.check || e.nearest != "") && (e.toFile() || e.format != ""):
		err = usagef("-check and -nearest print no vectors: give only one of -check, -nearest, and -o or -format")
	case e.check && !f.given("weights"):
		err = usagef("-check measures the effect of -weights: give -weights too")
	case e.stream != "" && e.stream != "arrow":
		err = usagef("-stream %q, want arrow", e.stream)
	case e.stream != "" && (e.check || e.nearest != "" || e.toFile() || e.format != "" || f.given("input")):
		err = usagef("-stream excludes -check, -nearest, -o, -format and -input")
	case e.split >= 0 && e.refuse:
		err = usagef("-split and -refuse exclude each other: both say how longer texts are treated")
	case e.k < 1:
		err = usagef("-k %d, want at least 1", e.k)
	case format.name == "npy" && !e.toFile(): // the header needs the number of rows, which is known only at the end
		err = usagef("-format npy needs an output file: -o FILE")
	}
	return format, err
}

// options returns the options of the pipeline.
func (e *embedding) options() (text.Options, error) {
	o := e.without()
	return o, setWeights(&o.Model, e.weights)
}

// without returns the options of the pipeline with weights in float32.
func (e *embedding) without() text.Options {
	o := text.Options{Threads: e.threads, BatchTokens: e.batch, MaxLength: e.length, Dim: e.dim, Pooling: e.pooling, Model: models.Options{Adapters: e.adapted, Float32: true}}
	e.replicas.to(&o)
	if e.split >= 0 {
		o.Long, o.Stride = text.LongSplit, e.split
	} else if e.refuse {
		o.Long = text.LongRefuse
	}
	return o
}

// vectors embeds texts with the prompt of the flags.
func (e *embedding) vectors(ctx context.Context, m *text.Embedder, texts []string) ([][]float32, error) {
	r, err := m.Embed(ctx, text.Texts(texts...), text.EmbedOptions{Prompt: e.prompt})
	return r.Outputs, err
}
