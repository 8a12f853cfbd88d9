// What a caller may choose when opening a pipeline.

package text

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/vision"
	"github.com/avoformer/avoformer/text/internal/windows"
)

// An Option changes how a pipeline works. One that does not apply to the pipeline, or that contradicts another, is
// an fault.ErrOption when the pipeline is opened.
type Option func(*options) error

type options struct {
	info        KindInfo
	given       map[string]string // what each option is set to; those about long texts count as one
	threads     kernels.Threads
	batchTokens int
	maxLength   int // of a text in tokens; 0: what the folder says
	long        windows.Long
	stride      int
	dim         int
	pooling     string // of hidden states; empty: as the folder says
	instruction string // of a language model as a reranker; empty: the usual one
	weights     kernels.Format
	formats     []models.NamedFormat // of single weights
	cache       kernels.Format
	prompts     kernels.Format
	adapters    []models.Adapter
	exact       bool
	memory      int64 // of keys and values; 0: no limit
	most        int64 // bytes that opening the model may take; 0: no limit
	headersOnly bool
	asWritten   bool   // the tokenizer
	draft       string // the folder of a draft model; empty: none
	maxPixels   int
	warn        func(warning string)
	batches     func(windows, tokens int)
}

// defaultBatchTokens keeps the activations of a batch in the second cache level
// or close to it; see BenchmarkBatchTokens.
const defaultBatchTokens = 2048

// forTexts are the options of pipelines that compute whole texts.
var forTexts = []string{"BatchTokens", "Batches", "MaxLength", "TruncateLong", "RefuseLong"}

// toAll are the options that apply to all pipelines.
var toAll = []string{"Threads", "Weights", "WeightsOf", "Adapter", "Warnings", "Exact", "MemoryLimit", "HeadersOnly", "TokenizerAsWritten"}

// several are the options that may be given several times, with different values.
var several = []string{"Adapter", "NamedAdapter", "WeightsOf"}

// option is an option that sets o to a value, in words.
func option(name string, value any, set func(o *options)) Option {
	return func(o *options) error {
		if own := o.info.Options; !slices.Contains(toAll, name) && !slices.Contains(own, name) {
			return check.Option(name, value, "it does not apply to pipelines of the type %s, which take %s", o.info.Type, strings.Join(slices.Concat(toAll, own), ", "))
		}
		about, now := name, strings.TrimSpace(name+" "+fmt.Sprint(value))
		if strings.HasSuffix(name, "Long") {
			about = "Long"
		}
		if before, twice := o.given[about]; twice && before != now && !slices.Contains(several, name) || twice && name == "Warnings" {
			return check.Option(name, value, "beside %s", before)
		}
		o.given[about] = now
		set(o)
		return nil
	}
}

// wrong is an option that cannot be.
func wrong(name string, value any, want string) Option {
	return func(*options) error { return check.Option(name, value, "want %s", want) }
}

// of is how the model is opened.
func (o *options) of() models.Options {
	return models.Options{Weights: o.weights, Formats: o.formats, Cache: o.cache, Adapters: o.adapters, Exact: o.exact, Prompts: o.prompts,
		MemoryLimit: o.most, HeadersOnly: o.headersOnly, Warn: o.warn}
}

func newOptions(info KindInfo, opts []Option) (options, error) {
	o := options{info: info, given: map[string]string{}, threads: kernels.Threads(replica.Threads()), batchTokens: defaultBatchTokens, maxPixels: vision.MaxPixels}
	for _, set := range opts {
		if err := set(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}

// positive is an option that takes a number from 1 on.
func positive(name string, n int, set func(o *options)) Option {
	if n < 1 {
		return wrong(name, n, "at least 1")
	}
	return option(name, n, set)
}

// Threads makes the calls of a pipeline that computes whole texts use up to n threads together, and one that generates
// up to n for each step. Without it there is one thread for each physical core that the process may use, but no more than
// the quota of its cgroup, rounded to the nearest number, or than GOMAXPROCS was when the pipeline was opened. Results do not
// depend on it.
func Threads(n int) Option {
	return positive("Threads", n, func(o *options) { o.threads = kernels.Threads(n) })
}

// BatchTokens is the most tokens of a batch, a single longer text aside. Batches are computed side by side, each on its own
// threads; those of a single call have at most 512 tokens, and together no more than n or 256 for each thread, whichever is
// more. More tokens take more memory.
func BatchTokens(n int) Option {
	return positive("BatchTokens", n, func(o *options) { o.batchTokens = n })
}

// Batches has f called with the size of each batch before it is computed: its texts, or windows of them, and their
// tokens. Calls may come from several goroutines at a time.
func Batches(f func(windows, tokens int)) Option {
	return option("Batches", "", func(o *options) { o.batches = f })
}

// MaxLength is the most tokens of a text, special tokens included, where the
// folder says more or nothing. More than the folder says is an error.
func MaxLength(n int) Option {
	return positive("MaxLength", n, func(o *options) { o.maxLength = n })
}

// TruncateLong cuts the end off texts that are too long. It is the default.
func TruncateLong() Option {
	return option("TruncateLong", "", func(o *options) { o.long = windows.Truncate })
}

// SplitLong cuts texts that are too long into windows, each of which begins
// with the last stride tokens of the one before. An Embedder averages the
// windows' vectors by their numbers of tokens, and a QuestionAnswerer looks for answers in all; the option
// does not apply to other pipelines.
func SplitLong(stride int) Option {
	if stride < 0 {
		return wrong("SplitLong", stride, "at least 0")
	}
	return option("SplitLong", stride, func(o *options) { o.long, o.stride = windows.Split, stride })
}

// RefuseLong makes texts that are too long an fault.ErrTooLong.
func RefuseLong() Option {
	return option("RefuseLong", "", func(o *options) { o.long = windows.Refuse })
}

// Dim cuts vectors to their first n elements and scales them to length 1
// again, for models trained so that the first elements say most (Kusupati et
// al., "Matryoshka Representation Learning", 2022).
func Dim(n int) Option {
	return positive("Dim", n, func(o *options) { o.dim = n })
}

// Pooling says how an Embedder makes one vector of a text's hidden states where the folder does not say it, by the names
// of sentence-transformers: cls, lasttoken, max, mean, mean_sqrt_len_tokens or weightedmean. For a folder with a
// modules.json it is an fault.ErrOption.
func Pooling(mode string) Option {
	if mode == "" {
		return wrong("Pooling", mode, "a mode")
	}
	return option("Pooling", mode, func(o *options) { o.pooling = mode })
}

// MaxPixels is the most pixels of an image, by default 50 million. Decoding takes about 7 bytes for
// each, however few the file has.
func MaxPixels(n int) Option {
	return positive("MaxPixels", n, func(o *options) { o.maxPixels = n })
}

// Weights is the format that the weights are held in: kernels.FormatBF16 and
// FormatF16 take half the memory, FormatInt8 a quarter, and less time; blocks such as
// FormatQ4_0 take even less. Results change slightly (the command's -check measures
// it). FormatBF16Fast is fast where the CPU has AMX, and only its results depend on the machine. The default is
// FormatF32, which leaves a GGUF file's blocks as they are.
func Weights(f kernels.Format) Option {
	if _, err := kernels.ParseFormat(f.String()); err != nil {
		return wrong("Weights", f, "one of the formats")
	}
	return option("Weights", f, func(o *options) { o.weights = f })
}

// WeightsOf is the format of those weights whose names match pattern, by the rules of [path.Match]; the names are those
// of [Embedder.Holdings], such as "encoder.layer.0.output.dense.weight". It overrides Weights, for example to keep a
// layer that loses much in more bits. It may be given several times: the first pattern that matches counts.
func WeightsOf(pattern string, f kernels.Format) Option {
	if _, err := kernels.ParseFormat(f.String()); err != nil {
		return wrong("WeightsOf", f, "one of the formats")
	}
	return option("WeightsOf", pattern+" "+f.String(), func(o *options) {
		o.formats = append(o.formats, models.NamedFormat{Pattern: pattern, Format: f})
	})
}

// Cache is the format that the keys and values of the tokens so far are held in while a text is
// generated: kernels.FormatBF16 and FormatF16 take half the memory, FormatInt8 a little more than a
// quarter. Attention takes longer, most with FormatInt8, and results change slightly. The default is
// FormatF32. Pipelines that generate nothing refuse the option.
func Cache(f kernels.Format) Option {
	if f > kernels.FormatInt8 {
		return wrong("Cache", f, "f32, bf16, f16 or int8")
	}
	return option("Cache", f, func(o *options) { o.cache = f })
}

// Prompts is the format of a second copy of the weights, with which prompts are computed. kernels.FormatInt8 takes one
// more byte for each weight, and makes prompts two to three times as fast as with bfloat16, and faster than with blocks
// where the CPU has AMX. Formats of blocks copy only weights in float32 and 16 bits, and so does kernels.FormatBF16Fast, which is for CPUs
// with AMX. Results for prompts are those of Weights with the copy's format. A step with many texts is computed with the copy too, so that a
// text may depend on what else is generated; see models.Options.Prompts. Prompts cannot be combined with [Exact].
func Prompts(f kernels.Format) Option {
	if f < kernels.FormatInt8 {
		return wrong("Prompts", f, "int8, a format of blocks or bf16_fast")
	}
	return option("Prompts", f, func(o *options) { o.prompts = f })
}

// Adapter adds a low-rank adapter to the model's weights while they are read: a folder as Python's peft
// writes it, or for a GGUF file a GGUF file, as [models.Adapter] says. What it adds is multiplied with scale; 1 is
// as it was trained. The option may be given several times: adapters add up.
func Adapter(path string, scale float32) Option {
	return adapter("Adapter", models.Adapter{Path: path, Scale: scale})
}

// NamedAdapter is Adapter for an adapter that stays beside the weights of a [Generator]: only texts that name it in
// [GenerateOptions] are generated with it. Texts with different adapters, and without one, share steps and one model in
// memory. The adapter may change only layers that repeat, not tables and heads.
func NamedAdapter(name, path string, scale float32) Option {
	if name == "" {
		return wrong("NamedAdapter", path, "a name")
	}
	return adapter("NamedAdapter", models.Adapter{Name: name, Path: path, Scale: scale})
}

// adapter is the option that adds an adapter.
func adapter(name string, a models.Adapter) Option {
	value := fmt.Sprintf("%s, %v", a.Path, a.Scale)
	if s := float64(a.Scale); a.Scale == 0 || math.IsNaN(s) || math.IsInf(s, 0) {
		return wrong(name, value, "a scale other than 0")
	}
	return option(name, value, func(o *options) { o.adapters = append(o.adapters, a) })
}

// CacheMemory is the most bytes of keys and values, of all texts that a Generator, Translator or Transcriber generates
// at a time and of those that it keeps for texts that begin alike. Texts for which there is no room wait. Without the
// option, texts that are being generated get what they need, and finished ones are kept within 1 GiB.
func CacheMemory(n int64) Option {
	if n < 1 {
		return wrong("CacheMemory", n, "at least 1")
	}
	return option("CacheMemory", n, func(o *options) { o.memory = n })
}

// Exact gives each text the same bits whatever is computed with it, in the same call or in concurrent ones; see
// models.Options.Exact.
func Exact() Option {
	return option("Exact", "", func(o *options) { o.exact = true })
}

// MemoryLimit is the most bytes that opening the model may take. If the headers of its files say that it would take
// more, opening fails before any memory is taken, with an error that matches [fault.ErrMemory] and says what would take less.
// Footprint of a pipeline says what its model took; keys and values of texts that are generated have a limit of their
// own, [CacheMemory].
func MemoryLimit(n int64) Option {
	if n < 1 {
		return wrong("MemoryLimit", n, "at least 1")
	}
	return option("MemoryLimit", n, func(o *options) { o.most = n })
}

// HeadersOnly opens a pipeline without reading the weights of its model: it says what it is and what memory it would
// take, and returns errors when it is asked to compute.
func HeadersOnly() Option {
	return option("HeadersOnly", "", func(o *options) { o.headersOnly = true })
}

// TokenizerAsWritten uses the folder's tokenizer.json as it is: see [tokenizer.Opening].
func TokenizerAsWritten() Option {
	return option("TokenizerAsWritten", "", func(o *options) { o.asWritten = true })
}

// Warnings has f called with each warning when the pipeline is opened, as soon as it is known: those of models.Model,
// before memory is taken for weights if they are about that, and that an [Embedder] has nothing that says how vectors
// are made.
func Warnings(f func(warning string)) Option {
	return option("Warnings", "", func(o *options) { o.warn = f })
}
