package replica

// BatchTokens is the most tokens of a batch that a pipeline has unless its caller says otherwise: the activations of more leave
// the second cache level.
const BatchTokens = 2048

const (
	// rows is how many tokens make up for reading the weights, on each thread.
	rows = 256
	// streamTokens is the most tokens of a batch that one call has on each thread.
	streamTokens = 512
	// featureBytes is what a token takes in workspaces for each feature of its hidden state: measured are 97 to 141 bytes,
	// the memory included that workspaces leave to the collector while they grow.
	featureBytes = 140
)

// StreamTokens returns the most tokens of a batch that is computed on one of some threads for one call, a single longer text aside: all that
// are computed at the same time are no more than batchTokens, as long as that leaves each batch enough.
func StreamTokens(threads, batchTokens int) int {
	return min(batchTokens, streamTokens, max(rows, batchTokens/threads))
}

// Workspaces is about how many bytes the batches take that are computed at the same time on some threads, of a model with hidden states
// of dim features. Threads of all replicas count alike.
func Workspaces(dim, threads, batchTokens int) int64 {
	return int64(threads) * int64(StreamTokens(threads, batchTokens)) * int64(dim) * featureBytes
}
