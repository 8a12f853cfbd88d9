package tokenizer

// Config is what tokenizer_config.json and special_tokens_map.json say beside the
// tokenizer itself.
type Config struct {
	MaxLength    int               // model_max_length, 0 if there is no limit
	ChatTemplate string            // Jinja; the default one if there are several
	Templates    map[string]string // the named chat templates
	Special      map[string]string // bos_token, eos_token and so on
}

// Config gives what the files say beside the tokenizer itself.
func (t *Tokenizer) Config() Config { return t.config }
