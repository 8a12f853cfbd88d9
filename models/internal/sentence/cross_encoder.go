package sentence

import (
	"cmp"
	"io/fs"
	"maps"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// A CrossEncoder has what the files of sentence-transformers say about a folder that its class
// CrossEncoder saved.
type CrossEncoder struct {
	MaxLength  int    // as that of an [Embedder]
	LowerCase  bool   // as of a [SentenceEmbedder]
	Activation string // the class of the activation of the logits, "" if the files name none
	// Prompts go before the first text of a pair, by their names. DefaultPrompt is the text of the
	// one that is taken where the caller does not name one.
	Prompts       map[string]string
	DefaultPrompt string
	// Modules make the logits, one of each pair; nil: the classifier makes them.
	Modules *Embedder
	// Logits says how the logits of a language model's next token become one; nil: another part
	// makes it.
	Logits *LogitScore
}

// A LogitScore is the logit of the token True after a pair, minus the logit of the token False.
type LogitScore struct {
	True, False int // tokens; False -1: none
	// Chat says that a pair is a chat of the folder's template, and Parts that its messages are
	// lists of parts.
	Chat, Parts bool
	// Variables are the variables that the template gets in addition to the messages.
	Variables map[string]any
	// Cut says that a prompt that is cut ends with the template's own end.
	Cut bool
}

var generation = task{name: "text-generation", output: "logits", port: "causal_logits"}

// OpenCrossEncoder reads those files next to a model. It returns nil if the folder was saved
// without them, or without modules.json: sentence-transformers then reads none of them.
func OpenCrossEncoder(fsys fs.FS, doc configuration.Document, m Parts) (c *CrossEncoder, warnings []string, err error) {
	modules, err := modulesFor(fsys, "CrossEncoder")
	if err != nil || modules == nil {
		return nil, nil, err
	}
	c = new(CrossEncoder)
	var s *Embedder
	switch kinds := kindsOf(modules); {
	case kinds[0] != "Transformer" || modules[0].Path != "":
		return nil, nil, moduleError(0, "type", modules[0].Type, "want a Transformer in the folder itself")
	case len(kinds) == 1:
		s = &Embedder{encoder: m.Encoder}
		err = s.readTransformer(fsys, m.ModelType, classification)
	case len(kinds) == 2 && kinds[1] == "LogitScore":
		s = &Embedder{}
		c.Logits, err = s.openLogits(fsys, modules[1].Path, m)
	default:
		s, err = openScores(fsys, doc, m, modules)
		c.Modules = s
	}
	if err != nil {
		return nil, nil, err
	}
	whole, err := readWhole(fsys)
	if err == nil {
		err = s.readPrompts(whole, nil)
	}
	if err != nil {
		return nil, nil, err
	}
	if c.Modules != nil && !s.IncludePrompt && len(s.Prompts) > 0 {
		return nil, nil, whole.Errorf("prompts", "not supported for a CrossEncoder whose pooling does not include them")
	}
	c.MaxLength, c.LowerCase, c.Prompts, c.DefaultPrompt = s.MaxLength, s.LowerCase, s.Prompts, s.DefaultPrompt
	whole.Note("activation_fn")
	if whole.Has("activation_fn") {
		if err := whole.Field("activation_fn", &c.Activation); err != nil {
			return nil, nil, err
		}
	}
	// Linear layers compute in float32 anyway.
	err = s.settleWhole(whole, "CrossEncoder", "keep_in_fp32_modules")
	return c, s.warnings, err
}

func kindsOf(modules []module) []string {
	kinds := make([]string, len(modules))
	for i, m := range modules {
		kinds[i] = m.kind()
	}
	return kinds
}

// openScores reads modules that make vectors of pairs, and of these the score, which the last one
// gives.
func openScores(fsys fs.FS, doc configuration.Document, m Parts, modules []module) (*Embedder, error) {
	s, err := newEmbedder(doc, m)
	if err != nil {
		return nil, err
	}
	last := len(modules) - 1
	for i, module := range modules[:last] {
		if err := s.add(fsys, i, module); err != nil {
			return nil, err
		}
	}
	if modules[last].kind() != "Dense" || len(s.pools) == 0 {
		return nil, moduleError(last, "type", modules[last].Type, "want a Dense after a Pooling, which gives the scores")
	}
	if err := s.addScores(fsys, modules[last].Path); err != nil {
		return nil, err
	}
	s.dim = s.out
	return s, s.readTransformer(fsys, m.ModelType, extraction)
}

// addScores reads the dense module that makes a score of the vector.
func (s *Embedder) addScores(fsys fs.FS, dir string) error {
	doc, err := readModule(fsys, dir)
	if err != nil {
		return err
	}
	module, in, out, err := s.readDense(fsys, doc, dir, vector)
	switch {
	case err != nil:
		return err
	case in != vector:
		return doc.Errorf("module_input_name", "want %s", vector)
	case out != "scores":
		return doc.Errorf("module_output_name", "want scores of the last module")
	case module.dense.Out != 1:
		return doc.Errorf("out_features", "a reranker has one label")
	}
	s.rest, s.out = append(s.rest, module), module.dense.Out
	return nil
}

// openLogits reads how the logits of a language model become a score.
func (s *Embedder) openLogits(fsys fs.FS, dir string, m Parts) (*LogitScore, error) {
	if m.Vocab == 0 {
		return nil, modulesError(fault.ErrFolder, "model_type %q is not a language model, of whose logits LogitScore makes scores", m.ModelType)
	}
	doc, err := readModule(fsys, dir)
	if err != nil {
		return nil, err
	}
	l := &LogitScore{False: -1}
	if err := l.readTokens(doc, m.Vocab); err != nil {
		return nil, err
	}
	raw := struct {
		Input string `json:"module_input_name"`
	}{generation.port}
	if err := cmp.Or(doc.Decode(&raw), doc.NoneNull("module_input_name"), doc.SettleBy("LogitScore", &s.warnings)); err != nil {
		return nil, err
	}
	if raw.Input != generation.port {
		return nil, doc.Errorf("module_input_name", "want %s", generation.port)
	}
	t := generation
	t.message = l.readMessage
	return l, s.readTransformer(fsys, m.ModelType, t)
}

// readTokens reads the tokens whose logits count. Python counts negative ones from the end of the
// vocabulary.
func (l *LogitScore) readTokens(doc configuration.Document, vocab int) error {
	for _, f := range []struct {
		name string
		to   *int
	}{{"true_token_id", &l.True}, {"false_token_id", &l.False}} {
		doc.Note(f.name)
		if !doc.Has(f.name) && f.to == &l.False {
			continue
		}
		n, err := doc.Integer(f.name)
		if err != nil {
			return err
		}
		if n < 0 {
			n += vocab
		}
		if n < 0 || n >= vocab || string(doc.Fields[f.name]) == "true" || string(doc.Fields[f.name]) == "false" {
			return doc.Errorf(f.name, "want a token, the vocabulary has %d", vocab)
		}
		*f.to = n
	}
	return nil
}

// chatArguments are those of transformers' apply_chat_template that are not variables of the
// template.
var chatArguments = []string{
	"conversation", "tools", "documents", "chat_template", "continue_final_message", "tokenize", "padding", "truncation", "max_length", "return_tensors", "return_dict",
	"return_assistant_tokens_mask", "tokenizer_kwargs", "common_kwargs",
}

// readMessage reads how pairs become chats.
func (l *LogitScore) readMessage(doc, modality configuration.Document) error {
	l.Chat, l.Cut, l.Variables = true, true, map[string]any{}
	switch {
	case modality.Says("format", "structured"):
		l.Parts = true
	case !modality.Says("format", "flat"):
		return modality.Errorf("format", "want flat or structured")
	}
	if doc.Empty("processing_kwargs") {
		return nil
	}
	kwargs, err := doc.Sub("processing_kwargs")
	if err != nil || kwargs.Empty("chat_template") {
		return err
	}
	chat, err := kwargs.Sub("chat_template")
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(chat.Fields)) {
		var value any
		switch {
		case name == "restore_suffix":
			l.Cut = chat.Truth(name, true)
		case slices.Contains(chatArguments, name):
			return chat.Errorf(name, "not supported")
		default:
			if err := chat.Field(name, &value); err != nil {
				return err
			}
			l.Variables[name] = value
		}
	}
	return nil
}
