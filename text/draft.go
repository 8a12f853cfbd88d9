// A smaller model that proposes what a Generator's may choose.

package text

import (
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Draft opens a smaller model in a folder, with the same tokens, that proposes those that come next. A [Generator] computes
// several of them in one pass and keeps those that it would have chosen: texts are the same, sooner where the draft
// is often right and much faster. It is asked as long as that saves time, and not for options with a Hook or a
// Grammar. Its weights and cache have the formats of the Generator's. Other pipelines refuse the option.
func Draft(dir string) Option {
	if dir == "" {
		return wrong("Draft", dir, "a folder")
	}
	return option("Draft", dir, func(o *options) { o.draft = dir })
}

// openDraft opens the model that the options name, nil if they name none.
func (f *base) openDraft() (models.LanguageModel, error) {
	if f.draft == "" {
		return nil, nil
	}
	refused := func(format string, args ...any) error {
		return check.Option("Draft", f.draft, format, args...)
	}
	fsys, err := folder.FS(f.draft)
	if err != nil {
		return nil, refused("%w", err)
	}
	t, err := folder.Tokenizer(fsys, tokenizer.Opening{AsWritten: f.asWritten})
	if err != nil {
		return nil, refused("%w", err)
	}
	for id := range max(t.Size(), f.tokenizer.Size()) {
		want, known := f.tokenizer.Token(id)
		if has, ok := t.Token(id); has != want || ok != known {
			return nil, refused("its token %d is %q, the model's %q", id, has, want)
		}
	}
	m, err := folder.Model(fsys, models.Options{Weights: f.weights, Cache: f.cache, MemoryLimit: f.most, HeadersOnly: f.headersOnly, Warn: f.warn})
	if err != nil {
		return nil, refused("%w", err)
	}
	if m.LM == nil || m.LM.Vocab() != f.model.LM.Vocab() {
		return nil, refused("want a language model with logits for %d tokens", f.model.LM.Vocab())
	}
	return m.LM, nil
}
