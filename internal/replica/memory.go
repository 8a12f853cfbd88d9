package replica

import "github.com/avoformer/avoformer/internal/topology"

// This file estimates the memory that pipelines use, and divides the memory that the process may
// use.

// BatchTokens is the default for the most tokens of a pipeline's batch. The activations of more
// tokens do not fit in the second cache level.
const BatchTokens = 2048

const (
	// rows is the number of tokens per thread for which reading the weights is worth it.
	rows = 256
	// streamTokens is the most tokens of a batch that is computed for one call on one thread.
	streamTokens = 512
	// featureBytes is the size of workspaces in bytes for each token and each feature of its hidden
	// state. Measured are 97 to 141 bytes, including memory that growing workspaces leave to the
	// collector.
	featureBytes = 140
)

// StreamTokens returns the most tokens of a batch that is computed for one call on one of several
// threads; a single longer text is an exception. All batches that are computed at the same time
// have at most batchTokens tokens, as long as that leaves enough tokens for each batch.
func StreamTokens(threads, batchTokens int) int {
	return min(batchTokens, streamTokens, max(rows, batchTokens/threads))
}

// Workspaces returns about the number of bytes of the batches that are computed at the same time on
// some threads, for a model whose hidden states have dim features. threads counts the threads of
// all replicas.
func Workspaces(dim, threads, batchTokens int) int64 {
	return int64(threads) * int64(StreamTokens(threads, batchTokens)) * int64(dim) * featureBytes
}

// Steps returns about the number of bytes of the steps that generate texts on some replicas, for a
// model with hidden states of dim features and logits for vocab tokens: the bytes of the
// activations and of the texts' logits.
func Steps(dim, vocab, replicas int) int64 {
	return int64(replicas) * (stepTokens*int64(dim)*featureBytes + stepTexts*4*int64(vocab))
}

const (
	stepTokens = 512 // the default of generation.SchedulerConfig
	stepTexts  = 16  // the most texts whose logits a step computes, in by far most steps
)

// Memory returns the number of bytes that the process may use, 0 if it is not known. limited
// reports whether that is the limit of a cgroup.
func Memory() (bytes int64, limited bool) {
	m := topology.Here()
	return m.Memory, m.Limited
}

// Room returns the part of memory, in bytes, that the weights and activations of models and the
// keys and values of texts may fill. The rest is for the program, its tokenizers, and garbage that
// is not collected yet.
func Room(memory int64) int64 { return max(0, memory-memory/10-program) }

// program is a margin for the program itself, its tokenizers and its requests.
const program = 40 << 20

// keptMost is the default for the most bytes of keys and values of finished texts.
const keptMost = 1 << 30

// Cache returns defaults for the keys and values of each of n models: the most bytes that they may
// fill, and the most bytes of these for finished texts. taken is the number of bytes of the weights
// and activations of all models. If memory, in bytes, is 0, most is 0: there is no limit.
func Cache(memory, taken int64, n int) (most, kept int64) {
	if memory == 0 {
		return 0, keptMost
	}
	most = max(1, (Room(memory)-taken)/int64(n))
	return most, min(most, keptMost)
}

// BatchTokensWithin returns the default for the most tokens of a batch of a model whose hidden
// states have dim features: BatchTokens, or fewer if the batches that are computed at the same time
// would fill more than the given number of bytes.
func BatchTokensWithin(bytes int64, dim, threads int) int {
	n := BatchTokens
	for n > leastBatch && Workspaces(dim, threads, n) > bytes {
		n /= 2
	}
	return n
}

const leastBatch = 64
