// What a caller may choose when opening a pipeline.

package text

import (
	"fmt"
	"math"
	"runtime"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/vision"
)

// An Option changes how a pipeline works.
type Option func(*options) error

type options struct {
	threads     kernels.Threads
	batchTokens int
	maxLength   int // of a text in tokens; 0: what the folder says
	long        long
	stride      int
	dim         int
	weights     kernels.Format
	cache       kernels.Format
	adapters    []models.Adapter
	memory      int64 // of keys and values; 0: no limit
	maxPixels   int
	warn        func(warning string)
}

// long is what happens to inputs of more tokens than the model takes.
type long int

const (
	truncateLong long = iota
	splitLong
	refuseLong
)

// defaultBatchTokens keeps the activations of a batch in the second cache level
// or close to it; see BenchmarkBatchTokens.
const defaultBatchTokens = 2048

func newOptions(opts []Option) (options, error) {
	o := options{threads: kernels.Threads(runtime.GOMAXPROCS(0)), batchTokens: defaultBatchTokens, maxPixels: vision.MaxPixels}
	for _, set := range opts {
		if err := set(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}

// positive is an option that takes a number from 1 on.
func positive(name string, n int, set func(o *options)) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("%w: %s(%d), want at least 1", ErrOption, name, n)
		}
		set(o)
		return nil
	}
}

// Threads makes the calls of a pipeline that computes whole texts use up to n threads together,
// and one that generates up to n for each; without it, as many as
// GOMAXPROCS was when the pipeline was opened. Results do not depend on it.
func Threads(n int) Option {
	return positive("Threads", n, func(o *options) { o.threads = kernels.Threads(n) })
}

// BatchTokens is the most tokens that go through the model at once, a single
// longer text aside. More take more memory.
func BatchTokens(n int) Option {
	return positive("BatchTokens", n, func(o *options) { o.batchTokens = n })
}

// MaxLength is the most tokens of a text, special tokens included, where the
// folder says more or nothing.
func MaxLength(n int) Option {
	return positive("MaxLength", n, func(o *options) { o.maxLength = n })
}

// TruncateLong cuts the end off texts that are too long. It is the default.
func TruncateLong() Option {
	return func(o *options) error { o.long = truncateLong; return nil }
}

// SplitLong cuts texts that are too long into windows, each of which begins
// with the last stride tokens of the one before. An Embedder averages the
// windows' vectors by their numbers of tokens; other pipelines refuse the option.
func SplitLong(stride int) Option {
	return func(o *options) error {
		if stride < 0 {
			return fmt.Errorf("%w: SplitLong(%d), want at least 0", ErrOption, stride)
		}
		o.long, o.stride = splitLong, stride
		return nil
	}
}

// RefuseLong makes texts that are too long an ErrLong.
func RefuseLong() Option {
	return func(o *options) error { o.long = refuseLong; return nil }
}

// Dim cuts vectors to their first n elements and scales them to length 1
// again, for models trained so that the first elements say most (Kusupati et
// al., "Matryoshka Representation Learning", 2022).
func Dim(n int) Option {
	return positive("Dim", n, func(o *options) { o.dim = n })
}

// MaxPixels is the most pixels of an image, by default 50 million. Decoding takes about 7 bytes for
// each, however few the file has.
func MaxPixels(n int) Option {
	return positive("MaxPixels", n, func(o *options) { o.maxPixels = n })
}

// Weights is the format that the weights are held in: kernels.FormatBF16 and
// FormatF16 take half the memory, FormatInt8 a quarter, and less time, blocks such as
// FormatQ4_0 even less; results are a little others (the command's -check tells how
// much). The default is FormatF32, which leaves a GGUF file's blocks as they are.
func Weights(f kernels.Format) Option {
	return func(o *options) error {
		if _, err := kernels.ParseFormat(f.String()); err != nil {
			return fmt.Errorf("%w: Weights(%v)", ErrOption, f)
		}
		o.weights = f
		return nil
	}
}

// Cache is the format that the keys and values of the tokens so far are held in while a
// text is generated: kernels.FormatBF16 and FormatF16 take half the memory, FormatInt8 some
// more than a quarter, and attention takes longer, with FormatInt8 most; results are a little
// others. The default is FormatF32. Pipelines that generate nothing hold none.
func Cache(f kernels.Format) Option {
	return func(o *options) error {
		if f > kernels.FormatInt8 {
			return fmt.Errorf("%w: Cache(%v), want f32, bf16, f16 or int8", ErrOption, f)
		}
		o.cache = f
		return nil
	}
}

// Adapter adds a low-rank adapter to the model's weights while they are read: a folder as Python's peft
// writes it, or for a GGUF file a GGUF file, as [models.Adapter] says. What it adds is multiplied with scale; 1 is
// as it was trained. The option may be given several times: adapters add up.
func Adapter(path string, scale float32) Option {
	return func(o *options) error {
		if s := float64(scale); scale == 0 || math.IsNaN(s) || math.IsInf(s, 0) {
			return fmt.Errorf("%w: Adapter(%q, %v), want a number other than 0", ErrOption, path, scale)
		}
		o.adapters = append(o.adapters, models.Adapter{Path: path, Scale: scale})
		return nil
	}
}

// CacheMemory is the most bytes of keys and values, of all texts that a Generator generates at a time and of those that
// it keeps for texts that begin alike. Texts for which it has no room wait. Without it, texts that are
// generated get what they need, and others are kept within 1 GiB.
func CacheMemory(n int64) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("%w: CacheMemory(%d), want at least 1", ErrOption, n)
		}
		o.memory = n
		return nil
	}
}

// Warnings has f called with each warning when the pipeline is opened, as soon as it is known: those of models.Model,
// before memory is taken for weights if they are about that, and that an [Embedder] has nothing that says how vectors
// are made.
func Warnings(f func(warning string)) Option {
	return func(o *options) error { o.warn = f; return nil }
}
