// Package text runs models from folders of the Hugging Face hub: text goes in, and vectors, scores,
// labels or text come out.
//
//	e, err := text.OpenEmbedder("all-MiniLM-L6-v2", text.Options{})
//	v, err := e.Embed(ctx, text.Texts("a sentence", "another"), text.EmbedOptions{})
//
// Options are given where a pipeline is opened, and to each call; the zero value is the usual
// choice. A call takes its context first, then its inputs, then its options, and returns [Results]:
// an output for each input, and the [Counts] of what was computed. Inputs are [Input]s if a pair of
// texts or tokens may take the place of a text, else texts. Generated text is a stream of [Piece]s,
// which [Collect] joins. Pipelines of images take files, and return only outputs.
//
// A pipeline does what transformers or sentence-transformers do with that kind of model:
// [Embedder], [Reranker], [Classifier], [TokenClassifier], [Generator], [Translator],
// [Transcriber], [ImageClassifier] and [ImageEmbedder]. Each is safe for concurrent use.
//
// An Embedder makes the vectors that its folder is for: one for a text, a sparse one
// ([Embedder.EmbedSparse]), or one for each token for late interaction
// ([Embedder.EmbedMultiVector], [MaxSim]).
//
// [Generator.Prompt] turns a chat's [Message]s, and tools if there are any, into a prompt with the
// folder's own template. [Generator.Answer] yields the answer as events of package answer: text,
// reasoning and calls of tools. [Reply] puts the answer back into the chat.
//
// Texts of all lengths go through the model side by side, sorted by length and without padding.
// Concurrent calls of an Embedder, Reranker, Classifier or TokenClassifier share its threads and
// its batches, and each call gets the same share of tokens. Many calls therefore need no more
// memory than one, except for their texts and results, and a short call does not wait for the end
// of a long one. Texts are tokenized while other texts are computed, only as many as keep the
// threads busy. A call whose context is cancelled returns at once, even while a batch with its
// texts is being computed; a call that generates returns between two tokens. A text that fails
// makes only its own call fail.
//
// Results have the same bits for any number of threads, and for any other texts in a batch, which
// may come from concurrent calls, unless PromptFormat of [models.Options] is given; Exact of
// [models.Options] refuses that. Chats are an exception: how much of a prompt is in the cache
// changes results by rounding.
//
// This package is settling: see doc/stability.md.
package text
