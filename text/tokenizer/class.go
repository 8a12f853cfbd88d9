package tokenizer

// What is known of each class of tokenizers in transformers.

// tokenizerClass is a class of tokenizers in transformers.
type tokenizerClass struct {
	json   reading
	fields map[string]string // of tokenizer_config.json with their defaults in JSON, beside sharedFields
}

// reading is how a class takes tokenizer.json.
type reading int

const (
	asWritten       reading = iota // as Hugging Face's tokenizers read it
	vocabularyAlone                // only its vocabulary, merges, character map and post-processor
	without                        // not at all: the class is written in Python
)
