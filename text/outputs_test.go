package text

import "context"

// outputs and counted take the results of a call apart.
func outputs[T any](r Results[T], err error) ([]T, error) { return r.Outputs, err }

func counted[T any](r Results[T], err error) ([]T, Counts, error) { return r.Outputs, r.Counts, err }

// embeds is Embed of texts with a prompt.
func embeds(e *Embedder, prompt string) func(context.Context, []string) ([][]float32, error) {
	return func(ctx context.Context, texts []string) ([][]float32, error) {
		return outputs(e.Embed(ctx, Texts(texts...), EmbedOptions{Prompt: prompt}))
	}
}

// translated is the translations of texts.
func translated(tr *Translator, ctx context.Context, texts []string, o TranslateOptions) ([]string, error) {
	r, err := tr.Translate(ctx, texts, o)
	var out []string
	for _, p := range r.Outputs {
		out = append(out, p.Text)
	}
	return out, err
}
