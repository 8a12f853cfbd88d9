// Kinds of pipelines.

package text

// Kind is the kind of a pipeline.
type Kind string

// The kinds, each with the pipeline that it stands for.
const (
	KindEmbedder         Kind = "embedder"
	KindReranker         Kind = "reranker"
	KindClassifier       Kind = "classifier"
	KindTokenClassifier  Kind = "token-classifier"
	KindMaskFiller       Kind = "mask-filler"
	KindNextSentence     Kind = "next-sentence"
	KindQuestionAnswerer Kind = "question-answerer"
	KindGenerator        Kind = "generator"
	KindTranslator       Kind = "translator"
	KindTranscriber      Kind = "transcriber"
	KindImageClassifier  Kind = "image-classifier"
	KindImageEmbedder    Kind = "image-embedder"
)

// KindInfo is what is known of a kind.
type KindInfo struct {
	Type string // of its pipelines, such as "Embedder"
	// Task is what the hub calls its models' task, such as "sentence-similarity".
	Task string
	// Command is avoformer's that uses it, such as "embed"; "": none.
	Command string
	Images  bool     // it takes images, and has no tokens
	Options []string // that it takes, beside those that all take
}
