package tokenizer

// What transformers does with each class of tokenizers.

// tokenizerClass describes a class of tokenizers in transformers.
type tokenizerClass struct {
	json   reading
	fields map[string]string // of tokenizer_config.json, with defaults in JSON, in addition to sharedFields
}

// reading says how a class reads tokenizer.json.
type reading int

const (
	asWritten       reading = iota // like Hugging Face's tokenizers
	vocabularyAlone                // only the vocabulary, the merges, the character map and the post-processor
	without                        // not at all: the class is written in Python
)
