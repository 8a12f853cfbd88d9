// Package generation makes tokens with a language model: of package models, or anything else
// that is a [Decoder].
//
//	m, err := models.Open("Qwen3-0.6B")
//	d := generation.Start(new(transformer.Workspace), m, 1)
//	for token, err := range generation.Generate(ctx, d, prompt, generation.SamplerConfig{Temperature: 0.7}, generation.Limits{MaxTokens: 100}) {
//
// What is where, from the model up:
//
//   - decoding.go: [Decoding], the state of sequences that a model goes on with, from tokens
//     and a cache to logits. [Start] begins one.
//   - rules.go: [Rules], which change logits before a token is chosen: penalties, bans, forced
//     tokens, with the names and effects of transformers' GenerationConfig. ruled.go applies
//     them to one text, and history.go keeps what they ask about its tokens.
//   - sampler.go: [Sampler], from logits to a token, one for each text. [LogitHook] and [Constraint] are
//     where others join in. filter.go chooses among the tokens of a large vocabulary.
//   - generate.go: the loop of both, [Generate] for one text, [GenerateBatch] for several, a [Request]
//     each.
//   - beam.go: [Beam], the search for the most likely text instead.
//   - step.go: [Step], tokens of many sequences that pass a model together.
//   - scheduler.go: [Scheduler], many texts at once, of requests that come and go. loop.go is what it does,
//     step by step; plan.go what a step has; job.go a request at work; prefixes.go the histories that requests share; pace.go
//     how much of the prompts a step takes; draft.go proposals from the text itself, forced.go what a
//     constraint tells before the model, guess.go proposals of a draft model, and gain.go whether these pay.
//
// The package knows tokens, not text: package text has pipelines that do both.
package generation
