// This file has the options with which pipelines are opened.

package text

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/internal/topology"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/vision"
	"github.com/avoformer/avoformer/text/internal/windows"
)

// Options says how a pipeline is opened. The zero value is the usual choice. A field that is set
// and does not apply to the kind of pipeline is a fault.ErrOption. These fields apply, as
// [Kind.Info] lists them for each kind:
//
//   - all pipelines: Model, FS, Threads, Replicas, ReplicaPerNode, TokenizerAsWritten
//   - Embedder, Reranker, Classifier, TokenClassifier, MaskFiller, NextSentence, QuestionAnswerer:
//     BatchTokens, OnBatch, MaxLength, Long
//   - Translator: MaxLength, Long, CacheMemory, CacheKept
//   - Transcriber: MaxLength, CacheMemory, CacheKept
//   - Generator: MaxLength, CacheMemory, CacheKept, CopyWeights, Draft, MaxPixels
//   - Embedder: Dim, Pooling, Stride
//   - QuestionAnswerer: Stride
//   - Reranker: Instruction
//   - ImageClassifier, ImageEmbedder: MaxPixels
type Options struct {
	// Model says how the model is held: the formats of its weights and of its cache, adapters, and
	// a limit of its memory. Its Warn is called with the warnings of the pipeline too, such as
	// those about the tokenizer. CacheFormat, PromptFormat, MTP and adapters with a Name apply to
	// pipelines that generate.
	Model models.Options
	// FS, unless nil, is the file system that has the folder; "." is its root. Draft and the paths
	// of adapters are in the file system of the operating system all the same.
	FS fs.FS
	// Threads is the most threads: of all calls together where whole texts are computed, and of
	// each step where text is generated. 0: one for each physical core that the process may use,
	// but no more than the quota of its cgroup, rounded to the nearest number, or than GOMAXPROCS.
	// Results do not depend on it.
	Threads int
	// Replicas divides the CPUs that the process may use into so many equal shares of whole cores,
	// on NUMA nodes of their own as far as that goes, and has a replica of the model's execution on
	// each: threads that are bound to the share's CPUs, and their memory for activations. All calls
	// have one queue, from which replicas take batches; a text that is generated goes to a replica
	// when it comes. Threads are those of all replicas together. Results do not depend on replicas.
	// On systems other than Linux, threads are not bound. 0: one replica, which is not bound.
	Replicas int
	// ReplicaPerNode is Replicas with one for each NUMA node on which the process may use CPUs.
	ReplicaPerNode bool
	// CopyWeights has a copy of a [Generator]'s weights in the memory of each NUMA node that has a
	// replica. The steps of language models read all weights for few tokens, and so are as fast as
	// memory is near. Pipelines that compute whole texts read them once for hundreds of tokens, and
	// have no such option. Footprint counts all copies.
	CopyWeights bool

	// MaxLength is the most tokens of a text, special tokens included. 0: what the folder says,
	// which is also the most that MaxLength may be.
	MaxLength int
	// Long says how texts of more tokens are handled. LongDefault is LongTruncate, which cuts them,
	// except in a QuestionAnswerer, where it is LongSplit.
	Long Long
	// Stride is the number of tokens that a window of LongSplit has in common with the one before
	// it.
	Stride int
	// TokenizerAsWritten uses the folder's tokenizer.json as it is: see [tokenizer.Opening].
	TokenizerAsWritten bool

	// BatchTokens is the most tokens of a batch, unless a single text is longer. Batches are
	// computed side by side, each on its own threads. Those of a single call have at most 512
	// tokens, and together no more than BatchTokens or 256 for each thread, whichever is more. More
	// tokens take more memory. 0: 2048, or fewer where the process may use little memory.
	BatchTokens int
	// OnBatch, unless nil, is called with the size of each batch before it is computed: its texts,
	// or windows of them, and their tokens. Several goroutines may call it at a time.
	OnBatch func(windows, tokens int)

	// Dim cuts the vectors of an Embedder to their first elements and scales them to length 1
	// again, for models trained so that the first elements matter most (Kusupati et al.,
	// "Matryoshka Representation Learning", 2022). 0: all of them.
	Dim int
	// Pooling says how an Embedder makes one vector of a text's hidden states where the folder does
	// not say it, by the names of sentence-transformers: cls, lasttoken, max, mean,
	// mean_sqrt_len_tokens or weightedmean.
	Pooling string
	// Instruction tells a language model that is a [Reranker], in one English sentence, what makes
	// a text fit a query. "": that passages answer a web search.
	Instruction string

	// CacheMemory is the most bytes of keys and values: those of all texts that are being
	// generated, and those that are kept for later texts that begin alike. Texts wait until there
	// is room for them, and a text that needs more is an error that matches fault.ErrMemory. 0:
	// what Model.MemoryLimit leaves beside weights and activations, or else the memory of the
	// machine or the lower limit of the process's cgroups (versions 1 and 2). Other models of the
	// process are not counted.
	CacheMemory int64
	// CacheKept is the number of bytes of CacheMemory up to which finished texts are kept in it.
	// They give way to texts that are being generated. 0: all of CacheMemory, or 1 GiB at most if
	// that is 0.
	CacheKept int64
	// Draft is the folder of a small language model with the same tokens, which proposes the next
	// ones. A [Generator] computes several of them in one pass and keeps those that it would have
	// chosen: texts are the same, and come faster if the draft is often right. The draft is used as
	// long as it saves time, but not for texts with a Hook or a Grammar. The formats of its weights
	// and its cache are those of Model. "": no draft.
	Draft string

	// MaxPixels is the most pixels of an image, and of all images that are decoded at a time.
	// Decoding takes about 7 bytes for each, however small the file is. 0: 50 million, or as many
	// as take a quarter of the memory that the process may use.
	MaxPixels int

	machine *topology.Machine // nil: the one that the process runs on
}

// Long says what is done with texts of more tokens than the model takes.
type Long int

// What is done with long texts.
const (
	LongDefault  Long = iota // of a call: as the pipeline was opened; see Options.Long
	LongTruncate             // texts are cut: their ends do not count. Counts.Cut says which, and Totals how many
	LongRefuse               // the error matches fault.ErrTooLong
	// LongSplit makes windows, each of which begins with the last Stride tokens of the one before
	// it. An Embedder averages the vectors of the windows by their numbers of tokens; a
	// QuestionAnswerer looks for answers in all of them.
	LongSplit
)

// windows is l as windows are made.
func (l Long) windows() (windows.Long, bool) {
	how, ok := map[Long]windows.Long{LongDefault: windows.Truncate, LongTruncate: windows.Truncate, LongRefuse: windows.Refuse, LongSplit: windows.Split}[l]
	return how, ok
}

// The options that apply to some kinds of pipelines, as KindInfo.Options names them.
var (
	forTexts   = []string{"BatchTokens", "OnBatch", "MaxLength", "LongTruncate", "LongRefuse"} // of pipelines that compute whole texts
	forDecoder = []string{"MaxLength", "CacheFormat", "CacheMemory", "CacheKept"}
)

// toAll are the options that apply to all pipelines.
var toAll = []string{"Threads", "Replicas", "ReplicaPerNode", "TokenizerAsWritten", "WeightFormat", "WeightFormats", "Float32", "Adapters", "Warn", "Exact", "MemoryLimit", "HeadersOnly", "Planned", "Ready", "ReadyCopy"}

// given is an option that is set, by its name in KindInfo.Options.
type given struct {
	name  string
	value any
	set   bool
}

// some returns the options that do not apply to all pipelines.
func (o *Options) some() []given {
	m := &o.Model
	list := []given{
		{"BatchTokens", o.BatchTokens, o.BatchTokens != 0}, {"OnBatch", "", o.OnBatch != nil}, {"MaxLength", o.MaxLength, o.MaxLength != 0},
		{"LongTruncate", "", o.Long == LongTruncate}, {"LongRefuse", "", o.Long == LongRefuse}, {"LongSplit", o.Stride, o.Long == LongSplit},
		{"Dim", o.Dim, o.Dim != 0}, {"Pooling", o.Pooling, o.Pooling != ""}, {"Instruction", o.Instruction, o.Instruction != ""},
		{"CacheMemory", o.CacheMemory, o.CacheMemory != 0}, {"CacheKept", o.CacheKept, o.CacheKept != 0}, {"Draft", o.Draft, o.Draft != ""}, {"MaxPixels", o.MaxPixels, o.MaxPixels != 0}, {"CopyWeights", "", o.CopyWeights},
		{"CacheFormat", m.CacheFormat, m.CacheFormat != 0}, {"PromptFormat", m.PromptFormat, m.PromptFormat != 0},
		{"Images", m.Images, m.Images}, {"MTP", m.MTP, m.MTP}, {"Projector", m.Projector, m.Projector != ""},
	}
	for _, a := range m.Adapters {
		list = append(list, given{"Adapter.Name", a.Name, a.Name != ""})
	}
	return list
}

// check returns an error for an option that cannot be, or does not apply to the kind.
func (o *Options) check(info KindInfo) error {
	for _, g := range o.some() {
		if g.set && !slices.Contains(info.Options, g.name) {
			return check.Option(g.name, g.value, "it does not apply to pipelines of the type %s, which take %s", info.Type, strings.Join(slices.Concat(toAll, info.Options), ", "))
		}
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"Threads", int64(o.Threads)}, {"Replicas", int64(o.Replicas)}, {"MaxLength", int64(o.MaxLength)}, {"Stride", int64(o.Stride)}, {"BatchTokens", int64(o.BatchTokens)},
		{"Dim", int64(o.Dim)}, {"CacheMemory", o.CacheMemory}, {"CacheKept", o.CacheKept}, {"MaxPixels", int64(o.MaxPixels)}, {"MemoryLimit", o.Model.MemoryLimit},
	} {
		if n.value < 0 {
			return check.Option(n.name, n.value, "want at least 0")
		}
	}
	if _, ok := o.Long.windows(); !ok {
		return check.Option("Long", int(o.Long), "there is no such choice")
	}
	if o.Replicas > 0 && o.ReplicaPerNode {
		return check.Option("Replicas", o.Replicas, "not together with ReplicaPerNode")
	}
	if o.Stride > 0 && o.Long != LongSplit {
		return check.Option("Stride", o.Stride, "without LongSplit")
	}
	return nil
}

// settled is o with its defaults, for a pipeline of a kind.
func (o Options) settled(info KindInfo) (Options, error) {
	if err := o.check(info); err != nil {
		return o, err
	}
	if o.Threads == 0 {
		o.Threads = replica.Threads()
	}
	if o.MaxPixels == 0 {
		if o.MaxPixels = vision.MaxPixels; o.memory() > 0 {
			o.MaxPixels = int(min(vision.MaxPixels, o.memory()/4/vision.PixelBytes))
		}
	}
	return o, nil
}

// memory returns how many bytes the pipeline may use, 0 if that is not known.
func (o *Options) memory() int64 {
	if o.Model.MemoryLimit > 0 {
		return o.Model.MemoryLimit
	}
	bytes, _ := replica.Memory()
	return bytes
}

// batchTokens returns the most tokens of a batch for a model of which there are copies on some
// replicas.
func (o *Options) batchTokens(m *models.Model, weights int64) int {
	if o.BatchTokens > 0 {
		return o.BatchTokens
	}
	e := m.TextEncoder()
	if e == nil || o.memory() == 0 {
		return replica.BatchTokens
	}
	return replica.BatchTokensWithin(replica.Room(o.memory())-weights, e.Dim(), o.Threads)
}

// folder returns the file system whose root is a folder.
func (o *Options) folder(dir string) (fs.FS, error) {
	if o.FS == nil {
		return folder.FS(dir)
	}
	sub, err := fs.Sub(o.FS, dir)
	if err != nil {
		return nil, folder.Errorf("%w", err)
	}
	return sub, nil
}
