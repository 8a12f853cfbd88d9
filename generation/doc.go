// Package generation generates tokens with a language model of package models, or with any other
// [Decoder].
//
//	m, err := models.Open("Qwen3-0.6B")
//	d := generation.Start(new(transformer.Workspace), m, 1)
//	for token, err := range generation.Generate(ctx, d, prompt, generation.SamplerConfig{Sampling: Sampling{Temperature: 0.7}}, generation.Limits{MaxTokens: 100}) {
//
// The files, from the model up:
//
//   - decoding.go: [Decoding], the state of sequences that a model continues, from tokens and a
//     cache to logits. [Start] begins one.
//   - rules.go: [Rules], which change logits before a token is chosen: penalties, bans, forced
//     tokens, with the names and effects of transformers' GenerationConfig. ruled.go applies
//     them to one text, and history.go keeps what they ask about its tokens.
//   - sampler.go: [Sampler], from logits to a token, one for each text. [LogitHook] and
//     [Constraint] are the hooks for other packages. filter.go narrows a large vocabulary down.
//   - generate.go: the loop over steps and choices: [Generate] for one text, [GenerateBatch] for
//     several, each a [Request].
//   - beam.go: [Beam], the search for the most likely text instead. best.go selects the best of
//     many.
//   - step.go: [Step], tokens of many sequences that pass through a model together.
//   - scheduler.go: [Scheduler], many texts at once, of requests that come and go. loop.go has its
//     loop; plan.go the contents of a step; job.go a request in progress, with its stream of tokens
//     (stream.go) and soft tokens (soft.go); prefixes.go the histories that requests share; pace.go
//     how much of the prompts a step takes. Proposals come from the text itself (draft.go), from a
//     constraint that leaves one choice (forced.go), from a draft model (guess.go, and guesses.go
//     for one text) and from a layer of the model that predicts further tokens (mtp.go, and
//     following.go for one text); gain.go decides whether they pay.
//
// The package knows tokens, not text: package text has pipelines that do both.
//
// This package is settling: see doc/stability.md.
package generation
