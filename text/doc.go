// Package text takes a folder of the Hugging Face hub to answers: text in,
// vectors, scores, labels or text out.
//
//	e, err := text.OpenEmbedder("all-MiniLM-L6-v2")
//	v, err := e.Embed(ctx, []string{"a sentence", "another"})
//
// A pipeline does for its kind of model what transformers or
// sentence-transformers do: [Embedder], [Reranker], [Classifier],
// [TokenClassifier], [Generator], [Translator], [Transcriber],
// [ImageClassifier] and [ImageEmbedder]. Each is open for concurrent use: what
// a call needs beside the model comes from a pool.
//
// An Embedder gives what its folder has: one vector of a text, a sparse one ([Embedder.EmbedSparse]) or one
// of each token for late interaction ([Embedder.EmbedVectors], [MaxSim]).
//
// A chat's [Message]s become a prompt with [Generator.Prompt], by the folder's own template,
// with tools if there are any; [Generator.Answer] yields the answer to them as events of package
// answer, which tell text from reasoning and from calls of tools. [Reply] puts it back into
// the chat.
//
// Texts of all lengths go through the model side by side, sorted by length and
// without padding. The calls of an Embedder, Reranker, Classifier or TokenClassifier
// that run at the same time share its threads and its batches, of which each gets as
// many tokens as another: the memory that many calls need beside their texts and
// results is that of one, and a short call does not wait for the end of a long one.
// Texts become tokens while others are computed, no more than keep the threads busy.
// A call whose context is cancelled returns at once, even while a batch with texts of
// it is computed; one that generates returns between two tokens. A text that fails
// fails its own call only.
//
// A result does not depend on the number of threads, to the bit; on what else was in
// the batch, which calls at the same time decide too, only as far as rounding goes
// (within 1e-5 for vectors of length 1), and with [Exact] not at all. A call that runs alone
// gives the same bits every time.
package text

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/transformer"
)

// Error is the error of this module's packages, which tells the file, the field and the value.
type Error = transformer.Error

// The kinds of errors, for use with errors.Is: those of packages transformer and generation.
var (
	ErrFolder  = fault.ErrFolder
	ErrFormat  = fault.ErrFormat
	ErrConfig  = fault.ErrConfig
	ErrWeights = fault.ErrWeights
	ErrOption  = fault.ErrOption
	ErrInput   = fault.ErrInput
	ErrTooLong = fault.ErrTooLong
	ErrMemory  = fault.ErrMemory
	ErrBusy    = fault.ErrBusy
	// ErrCut is that of a text with a Grammar which MaxTokens or the context cut before it was whole: what came is no answer,
	// such as half an object of JSON.
	ErrCut = fault.ErrCut
	// ErrNotFinite is a computation that gave NaN or an infinity: weights are damaged, or numbers grew beyond float32.
	ErrNotFinite = fault.ErrNotFinite
)
