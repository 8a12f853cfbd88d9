package replica

import "github.com/avoformer/avoformer/internal/topology"

// This file says how much memory pipelines take, and how they share what the process may use.

// BatchTokens is the most tokens of a batch that a pipeline has unless its caller says otherwise:
// the activations of more leave the second cache level.
const BatchTokens = 2048

const (
	// rows is how many tokens make up for reading the weights, on each thread.
	rows = 256
	// streamTokens is the most tokens of a batch that one call has on each thread.
	streamTokens = 512
	// featureBytes is what a token takes in workspaces for each feature of its hidden state:
	// measured are 97 to 141 bytes, the memory included that workspaces leave to the collector
	// while they grow.
	featureBytes = 140
)

// StreamTokens returns the most tokens of a batch that is computed on one of some threads for one
// call, a single longer text aside: all that are computed at the same time are no more than
// batchTokens, as long as that leaves each batch enough.
func StreamTokens(threads, batchTokens int) int {
	return min(batchTokens, streamTokens, max(rows, batchTokens/threads))
}

// Workspaces is about how many bytes the batches take that are computed at the same time on some
// threads, of a model with hidden states of dim features. Threads of all replicas count alike.
func Workspaces(dim, threads, batchTokens int) int64 {
	return int64(threads) * int64(StreamTokens(threads, batchTokens)) * int64(dim) * featureBytes
}

// Steps is about how many bytes the steps take in which texts are generated on some replicas, of a
// model with hidden states of dim features and logits for vocab tokens: those of the activations,
// and of the logits of the texts.
func Steps(dim, vocab, replicas int) int64 {
	return int64(replicas) * (stepTokens*int64(dim)*featureBytes + stepTexts*4*int64(vocab))
}

const (
	stepTokens = 512 // of generation.SchedulerConfig
	stepTexts  = 16  // whose logits are wanted at a time, by far most often
)

// Memory returns how many bytes the process may use, 0 if that is not known; limited says that a
// cgroup allows it no more.
func Memory() (bytes int64, limited bool) {
	m := topology.Here()
	return m.Memory, m.Limited
}

// Room returns how many of some bytes of memory weights and activations of models may take, and the
// keys and values of texts. The rest is for the program, its tokenizers, and what the collector has
// not collected yet.
func Room(memory int64) int64 { return max(0, memory-memory/10-program) }

// program is a margin for the program itself, its tokenizers and its requests.
const program = 40 << 20

// keptMost is the default for how many bytes of keys and values finished texts may fill.
const keptMost = 1 << 30

// Cache returns the defaults for how many bytes of memory the keys and values of each of n models
// may take, where the weights and the activations of all models take some, and for how many of them
// texts that are finished may fill. If memory, in bytes, is 0, most is 0: there is no limit.
func Cache(memory, taken int64, n int) (most, kept int64) {
	if memory == 0 {
		return 0, keptMost
	}
	most = max(1, (Room(memory)-taken)/int64(n))
	return most, min(most, keptMost)
}

// BatchTokensWithin returns the default for the most tokens of a batch of a model with hidden
// states of dim features: BatchTokens, or fewer if the batches that are computed at the same time
// would take more than some bytes.
func BatchTokensWithin(bytes int64, dim, threads int) int {
	n := BatchTokens
	for n > leastBatch && Workspaces(dim, threads, n) > bytes {
		n /= 2
	}
	return n
}

const leastBatch = 64
