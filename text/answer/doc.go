// Package answer splits the text that a chat model writes into the answer itself, the reasoning
// before it, and the calls of tools.
//
// A [Parser] gets the text as it is generated, in pieces of any size, and gives [Event]s as soon as
// they are certain. It holds back no more than what may be the beginning of a marker and the white
// space before it. How the text is cut into pieces changes how events are cut, not what they say.
//
//	p, err := answer.NewParser(format, answer.Options{Tools: tools, Prompt: prompt})
//	for piece := range pieces {
//		for _, e := range p.Add(piece) {
//			...
//		}
//	}
//	for _, e := range p.End() {
//		...
//	}
//
// A [Format] says how a model writes calls and reasoning, and [Detect] finds it from a chat
// template. Text that is not a well-formed call, with strict JSON (RFC 8259), stays unchanged as
// text of the answer. White space around calls and reasoning belongs neither to them nor to the
// answer: templates write it again.
//
// The markers of some models are special tokens. The text must have them: decode without leaving
// special tokens out, as [Format.Markers] asks for.
//
// This package is settling: see doc/stability.md.
package answer
