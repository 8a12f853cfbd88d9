// A smaller model that proposes what a Generator's may choose.

package text

import (
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// openDraft opens the model that the options name, nil if they name none.
func (f *base) openDraft() (models.LanguageModel, error) {
	if f.options.Draft == "" {
		return nil, nil
	}
	refused := func(format string, args ...any) error {
		return check.Option("Draft", f.options.Draft, format, args...)
	}
	fsys, err := folder.FS(f.options.Draft)
	if err != nil {
		return nil, refused("%w", err)
	}
	t, err := folder.Tokenizer(fsys, tokenizer.Opening{AsWritten: f.options.TokenizerAsWritten})
	if err != nil {
		return nil, refused("%w", err)
	}
	for id := range max(t.Size(), f.tokenizer.Size()) {
		want, known := f.tokenizer.Token(id)
		if has, ok := t.Token(id); has != want || ok != known {
			return nil, refused("its token %d is %q, the model's %q", id, has, want)
		}
	}
	how := f.options.Model
	m, err := folder.Model(fsys, models.Options{WeightFormat: how.WeightFormat, CacheFormat: how.CacheFormat, MemoryLimit: how.MemoryLimit, HeadersOnly: how.HeadersOnly, Warn: how.Warn})
	if err != nil {
		return nil, refused("%w", err)
	}
	if m.LM == nil || m.LM.Vocab() != f.model.LM.Vocab() {
		return nil, refused("want a language model with logits for %d tokens", f.model.LM.Vocab())
	}
	return m.LM, nil
}
