// Formats of calls and reasoning.

package answer

import (
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// Calls is a format of calls of tools.
type Calls string

// The known formats. White space may be between the parts. A call is whole if the text ends after
// its arguments. Calls are objects with "name" and "arguments" or "parameters", in any order, among
// other fields.
const (
	// None has no calls.
	None Calls = ""
	// Hermes is <tool_call>, an object or a list of them, and </tool_call>: Hermes 2 and 3, Qwen
	// 2.5 and 3, and models with templates like theirs. An answer that begins with an object is
	// read as for Llama, and </tool_call> may be missing before another <tool_call>.
	Hermes Calls = "hermes"
	// QwenCoder is <tool_call><function=NAME>, any number of <parameter=KEY>VALUE</parameter>, and
	// </function></tool_call>: Qwen3-Coder, Qwen 3.5, Nemotron 3. The types of the values are those
	// of the tool's schema, without which they are strings. These models often leave tags out: a
	// call of one of the tools may have no <tool_call>, or no </tool_call>, and the tags that end a
	// value or the parameters may be missing before the next tag.
	QwenCoder Calls = "qwen-coder"
	// GLM is <tool_call>NAME, any number of <arg_key>KEY</arg_key><arg_value>VALUE</arg_value>, and
	// </tool_call>: GLM 4.5 and later. Types are as for QwenCoder.
	GLM Calls = "glm"
	// Llama is objects with ; between them, or a list of them, either after <|python_tag|> or as
	// the beginning of the answer; then the first field is "name" or "type", and the name that of
	// one of the tools: Llama 3.1 to 3.3. Calls in Python are text.
	Llama Calls = "llama"
	// Mistral is [TOOL_CALLS] with a list of objects, or, for each call, [TOOL_CALLS]NAME,
	// [CALL_ID]ID if there is one, [ARGS], which may be missing, and the arguments: all of Mistral
	// since the 7B v0.3.
	Mistral Calls = "mistral"
	// Piped is <|tool_call|> with an object or a list of them, and <|/tool_call|>, which may be
	// missing: Granite 3, Phi-4-mini.
	Piped Calls = "piped"
	// DeepSeek is <｜tool▁calls▁begin｜>, for each call <｜tool▁call▁begin｜>, "function",
	// <｜tool▁sep｜>, NAME and the arguments as a block of Markdown, or NAME, <｜tool▁sep｜> and the
	// only the arguments, then <｜tool▁call▁end｜>; and <｜tool▁calls▁end｜>: R1, its distilled models,
	// V3 and V3.1.
	DeepSeek Calls = "deepseek"
	// Nemotron is <TOOLCALL>, an object or a list of them, and </TOOLCALL>: Nemotron Nano 2.
	Nemotron Calls = "nemotron"
	// Hunyuan is <tool_calls>, a list of objects, and </tool_calls>: Hunyuan A13B.
	Hunyuan Calls = "hunyuan"
	// LFM is <|tool_call_start|>, a list of calls as in Python, [NAME(KEY=VALUE, ...)], or of
	// objects, and <|tool_call_end|>: LFM2. Values are the literals of Python that JSON can
	// express: tuples and sets become lists, keys that are numbers or constants become strings.
	// Bytes, complex numbers and expressions are not calls.
	LFM Calls = "lfm"
	// OLMo is <function_calls>, calls as in Python, each on a line, and </function_calls>: OLMo 3.
	// Values are as for LFM.
	OLMo Calls = "olmo"
	// Gemma is <|tool_call>call:NAME{KEY:VALUE, ...}<tool_call|>, with strings between two <|"|>,
	// and keys without quotes in objects, too: Gemma 4.
	Gemma Calls = "gemma"
	// Written is for models whose templates have no place for tools: package text writes the tools
	// into the prompt and asks for calls in the form of Hermes. Models that leave the tags out are
	// understood, too: an answer that begins with an object is read as for Llama.
	Written Calls = "written"
)

// Format says how a model writes calls and reasoning. With the zero value, everything is text of
// the answer.
type Format struct {
	Calls Calls
	// Think and Unthink are before and after the reasoning, such as <think> and </think>. Both are
	// empty if the model does not reason.
	Think, Unthink string
	// Answer and Unanswer are before and after the text that follows the reasoning, such as
	// <answer> and </answer>, and not part of it. Both are empty if the model writes no such tags.
	// A model may leave them out: without the first, the second is text.
	Answer, Unanswer string
}

func (f Format) check() error {
	if _, ok := families[f.Calls]; !ok {
		return fmt.Errorf("%w: Calls %q", fault.ErrOption, f.Calls)
	}
	for _, t := range []struct{ open, end, tag, endTag string }{{"Think", "Unthink", f.Think, f.Unthink}, {"Answer", "Unanswer", f.Answer, f.Unanswer}} {
		if (t.tag == "") != (t.endTag == "") || strings.TrimSpace(t.tag) != t.tag || strings.TrimSpace(t.endTag) != t.endTag {
			return fmt.Errorf("%w: %s %q with %s %q: want both or neither, without white space around", fault.ErrOption, t.open, t.tag, t.end, t.endTag)
		}
	}
	return nil
}

// Markers returns the texts that may be around calls, reasoning and the text after it. Tokens of
// these texts must be decoded even if they are special.
func (f Format) Markers() []string {
	var list []string
	if f.Think != "" {
		if list = append(list, f.Think, f.Unthink); strings.HasPrefix(f.Think, channel) {
			list = append(list, channel) // a token, after which the name of the channel is text
		}
	}
	if f.Answer != "" {
		list = append(list, f.Answer, f.Unanswer)
	}
	fam := families[f.Calls]
	return append(append(list, fam.open...), fam.markers...) // loose markers are text in all vocabularies
}

// channel begins a part of an answer of Gemma 4, whose name follows.
const channel = "<|channel>"

// gemmaQuote is around strings in calls of Gemma 4.
const gemmaQuote = `<|"|>`

// family has the markers of a format of calls. heads has the function that reads what follows the
// first.
type family struct {
	open    []string // each begins a call, or a list of calls
	loose   []string // each begins a call, too, if the name is that of one of the tools
	bare    bool     // an object or a list at the beginning of an answer may be calls, too
	close   []string // must follow a call
	tail    string   // may follow calls
	next    string   // may follow a call, and begins another
	markers []string // all others, for Format.Markers
}

const (
	functionOpen = "<function=" // before the name of a function

	callBegin = "<｜tool▁call▁begin｜>"
	callEnd   = "<｜tool▁call▁end｜>"
	toolSep   = "<｜tool▁sep｜>"
)

var families = map[Calls]family{
	None:      {},
	Written:   {open: []string{"<tool_call>"}, bare: true, close: []string{"</tool_call>"}, tail: "</tool_call>", markers: []string{"</tool_call>"}},
	Hermes:    {open: []string{"<tool_call>"}, bare: true, tail: "</tool_call>", close: []string{"</tool_call>"}, markers: []string{"</tool_call>"}},
	QwenCoder: {open: []string{"<tool_call>"}, loose: []string{functionOpen}, tail: "</tool_call>", markers: []string{"</tool_call>"}},
	GLM:       {open: []string{"<tool_call>"}, markers: []string{"</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"}},
	Llama:     {open: []string{"<|python_tag|>"}, bare: true, next: ";"},
	Mistral:   {open: []string{"[TOOL_CALLS]"}, markers: []string{"[CALL_ID]", "[ARGS]"}},
	Piped:     {open: []string{"<|tool_call|>"}, tail: "<|/tool_call|>", markers: []string{"<|/tool_call|>"}},
	Nemotron:  {open: []string{"<TOOLCALL>"}, close: []string{"</TOOLCALL>"}, markers: []string{"</TOOLCALL>"}},
	Hunyuan:   {open: []string{"<tool_calls>"}, close: []string{"</tool_calls>"}, markers: []string{"</tool_calls>"}},
	LFM:       {open: []string{"<|tool_call_start|>"}, close: []string{"<|tool_call_end|>"}, markers: []string{"<|tool_call_end|>"}},
	OLMo:      {open: []string{"<function_calls>"}, close: []string{"</function_calls>"}, markers: []string{"</function_calls>"}},
	Gemma:     {open: []string{"<|tool_call>"}, close: []string{"<tool_call|>"}, markers: []string{"<tool_call|>", gemmaQuote}},
	DeepSeek: {open: []string{"<｜tool▁calls▁begin｜>", callBegin}, close: []string{callEnd}, tail: "<｜tool▁calls▁end｜>",
		markers: []string{callEnd, toolSep, "<｜tool▁calls▁end｜>"}},
}
