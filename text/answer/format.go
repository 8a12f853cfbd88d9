// How models write calls and reasoning.

package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// Calls is a way to write calls of tools.
type Calls string

// The known ways to write calls. White space may stand between the parts; a call that the
// end of the text cuts after its arguments is whole. Calls are objects with "name" and
// "arguments" or "parameters", in any order, among other fields.
const (
	// None has no calls.
	None Calls = ""
	// Hermes is <tool_call>, an object or a list of them, and </tool_call>: Hermes 2 and 3,
	// Qwen 2.5 and 3, and others whose templates are made after theirs.
	Hermes Calls = "hermes"
	// QwenCoder is <tool_call><function=NAME>, any number of <parameter=KEY>VALUE</parameter>,
	// and </function></tool_call>: Qwen3-Coder, Qwen 3.5, Nemotron 3. The types of the values
	// are those of the tool's schema, without which they are strings.
	QwenCoder Calls = "qwen-coder"
	// GLM is <tool_call>NAME, any number of <arg_key>KEY</arg_key><arg_value>VALUE</arg_value>,
	// and </tool_call>: GLM 4.5 and later. Types are as for QwenCoder.
	GLM Calls = "glm"
	// Llama is objects with ; between them, or a list of them, either after <|python_tag|> or
	// as the beginning of the answer; then the first field is "name" or "type", and the
	// name that of one of the tools: Llama 3.1 to 3.3. Calls in Python are text.
	Llama Calls = "llama"
	// Mistral is [TOOL_CALLS] with a list of objects, or, for each call, [TOOL_CALLS]NAME,
	// [CALL_ID]ID if there is one, [ARGS], which may be missing, and the arguments: all of
	// Mistral since the 7B v0.3.
	Mistral Calls = "mistral"
	// Piped is <|tool_call|> with an object or a list of them, and <|/tool_call|>, which may be
	// missing: Granite 3, Phi-4-mini.
	Piped Calls = "piped"
	// DeepSeek is <｜tool▁calls▁begin｜>, for each call <｜tool▁call▁begin｜>, "function",
	// <｜tool▁sep｜>, NAME and the arguments as a block of Markdown, or NAME, <｜tool▁sep｜> and the
	// arguments alone, then <｜tool▁call▁end｜>; and <｜tool▁calls▁end｜>: R1, its distilled models,
	// V3 and V3.1.
	DeepSeek Calls = "deepseek"
	// Written is for models whose templates have no place for tools: package text writes the tools into the
	// prompt and asks for calls in the form of Hermes. Models that leave the tags out are understood, too: an answer
	// that begins with an object is read as for Llama.
	Written Calls = "written"
)

// Format says how a model writes calls and reasoning. The zero value has neither: all is
// text of the answer.
type Format struct {
	Calls Calls
	// Think and Unthink come before and after what the model thinks before it answers, such
	// as <think> and </think>; both empty if it does not.
	Think, Unthink string
}

func (f Format) check() error {
	if _, ok := families[f.Calls]; !ok {
		return fmt.Errorf("%w: Calls %q", fault.ErrOption, f.Calls)
	}
	if (f.Think == "") != (f.Unthink == "") || strings.TrimSpace(f.Think) != f.Think || strings.TrimSpace(f.Unthink) != f.Unthink {
		return fmt.Errorf("%w: Think %q with Unthink %q: want both or neither, without white space around", fault.ErrOption, f.Think, f.Unthink)
	}
	return nil
}

// Markers are what may stand around calls and reasoning. Tokens of these texts must be
// decoded even if they are special.
func (f Format) Markers() []string {
	var list []string
	if f.Think != "" {
		list = append(list, f.Think, f.Unthink)
	}
	fam := families[f.Calls]
	return append(append(list, fam.open...), fam.markers...)
}

// rules find the way of calls from a template. The first holds all of whose texts are there.
var rules = []struct {
	calls Calls
	texts []string
}{
	{GLM, []string{"<tool_call>", "<arg_key>"}},
	{QwenCoder, []string{"<tool_call>", "<function=", "<parameter="}},
	{Hermes, []string{"<tool_call>"}},
	{Mistral, []string{"[TOOL_CALLS]"}},
	{DeepSeek, []string{callBegin, toolSep}},
	{Piped, []string{"<|tool_call|>"}},
	{Llama, []string{"<|python_tag|>"}},
	{Llama, []string{"<|start_header_id|>", `"parameters": `}},
}

// tokenRules find it from the vocabulary, where the template has no calls.
var tokenRules = []struct {
	calls Calls
	token string
}{{Mistral, "[TOOL_CALLS]"}, {DeepSeek, callBegin}, {Piped, "<|tool_call|>"}, {Llama, "<|python_tag|>"}}

// thoughts are the markers of reasoning. The first pair that is closed in the template is
// used.
var thoughts = [][2]string{{"[THINK]", "[/THINK]"}, {"<think>", "</think>"}}

// Detect finds the format of a model from its chat template and its vocabulary; hasToken
// may be nil.
//
// The markers in the template's text decide about calls: <tool_call> with <arg_key> is GLM,
// with <function= and <parameter= QwenCoder, else Hermes; [TOOL_CALLS] is Mistral,
// <｜tool▁call▁begin｜> with <｜tool▁sep｜> DeepSeek, <|tool_call|> Piped; <|python_tag|>, or
// <|start_header_id|> with `"parameters": `, Llama. A template without any of them, that does
// not speak of tool_calls either, leaves it to the vocabulary: a token [TOOL_CALLS],
// <｜tool▁call▁begin｜>, <|tool_call|> or <|python_tag|>, in this order. Else calls are not
// known, and text. Reasoning is between [THINK] and [/THINK], or <think> and </think>,
// if the template has the second of them, or else the vocabulary both.
func Detect(template string, hasToken func(string) bool) Format {
	if hasToken == nil {
		hasToken = func(string) bool { return false }
	}
	var f Format
	has := func(s string) bool { return strings.Contains(template, s) }
	for _, r := range rules {
		if !slices.ContainsFunc(r.texts, func(s string) bool { return !has(s) }) {
			f.Calls = r.calls
			break
		}
	}
	if f.Calls == None && !has("tool_calls") {
		for _, r := range tokenRules {
			if hasToken(r.token) {
				f.Calls = r.calls
				break
			}
		}
	}
	for _, known := range []func(open, end string) bool{
		func(_, end string) bool { return has(end) },
		func(open, end string) bool { return hasToken(open) && hasToken(end) },
	} {
		for _, t := range thoughts {
			if f.Think == "" && known(t[0], t[1]) {
				f.Think, f.Unthink = t[0], t[1]
			}
		}
	}
	return f
}
