// The format of a model, by its chat template and its vocabulary.

package answer

import (
	"slices"
	"strings"
)

// rules find the format of calls from a template: the first rule whose texts are all in the
// template decides.
var rules = []struct {
	calls Calls
	texts []string
}{
	{Gemma, []string{"<|tool_call>", "<tool_call|>"}},
	{Nemotron, []string{"<TOOLCALL>"}},
	{LFM, []string{"<|tool_list_start|>"}},
	{LFM, []string{"<|tool_call_start|>"}},
	{OLMo, []string{"<function_calls>"}},
	{Hunyuan, []string{"<tool_calls>[{"}},
	{GLM, []string{"<tool_call>", "<arg_key>"}},
	{QwenCoder, []string{"<tool_call>", "<function=", "<parameter="}},
	{Hermes, []string{"<tool_call>"}},
	{Mistral, []string{"[TOOL_CALLS]"}},
	{DeepSeek, []string{callBegin, toolSep}},
	{Piped, []string{"<|tool_call|>"}},
	{Llama, []string{"<|python_tag|>"}},
	{Llama, []string{"<|start_header_id|>", `"parameters": `}},
}

// tokenRules find the format of calls from the vocabulary, for templates without calls.
var tokenRules = []struct {
	calls Calls
	token string
}{{Mistral, "[TOOL_CALLS]"}, {DeepSeek, callBegin}, {Piped, "<|tool_call|>"}, {Llama, "<|python_tag|>"}, {LFM, "<|tool_call_start|>"}, {Gemma, "<|tool_call>"}}

// thoughts are the markers of reasoning. The first pair whose end is in the template is used.
var thoughts = [][2]string{{"[THINK]", "[/THINK]"}, {"<think>", "</think>"}, {channel + "thought", "<channel|>"}}

// answers find the tags around the text after reasoning between <think> and </think> from a
// template, as rules do. The template of Hunyuan need not have them; the second rule is for KAT-V1
// and other models whose templates cut them out of earlier answers.
var answers = []struct {
	open, end string
	texts     []string
}{
	{"<response>", "</response>", []string{"<global_setting>", "<response>", "</response>"}},
	{"<answer>", "</answer>", []string{"<answer>", "</answer>"}},
	{"<answer>", "</answer>", []string{"<|extra_0|>", "<|extra_4|>"}},
	{"<answer>", "</answer>", []string{"hy_Assistant"}},
}

// Detect finds the format of a model from its chat template and its vocabulary; hasToken may be
// nil.
//
// The markers in the template's text decide about calls: <|tool_call> with <tool_call|> is Gemma,
// <TOOLCALL> Nemotron, <|tool_list_start|> or <|tool_call_start|> LFM, <function_calls> OLMo,
// <tool_calls>[{ Hunyuan, <tool_call> with <arg_key> GLM, with <function= and <parameter=
// QwenCoder, else Hermes; [TOOL_CALLS] is Mistral, <｜tool▁call▁begin｜> with <｜tool▁sep｜> DeepSeek,
// <|tool_call|> Piped; <|python_tag|>, or <|start_header_id|> with `"parameters": `, Llama. If a
// template has none of them, nor the word tool_calls, the first of these tokens in the vocabulary
// decides: [TOOL_CALLS], <｜tool▁call▁begin｜>, <|tool_call|>, <|python_tag|>, <|tool_call_start|>,
// <|tool_call>. Otherwise calls are text. Reasoning is between [THINK] and [/THINK], <think> and
// </think>, or <|channel>thought and <channel|>, if the template has the second of them, or else
// the vocabulary both. The text after <think> and </think> is between <response> and </response> if
// the template has them and <global_setting> (ERNIE 4.5 Thinking), and between <answer> and
// </answer> if it has them, or what Hunyuan's templates have around messages: <|extra_0|> and
// <|extra_4|>, or hy_Assistant.
func Detect(template string, hasToken func(string) bool) Format {
	if hasToken == nil {
		hasToken = func(string) bool { return false }
	}
	var f Format
	has := func(s string) bool { return strings.Contains(template, s) }
	for _, r := range rules {
		if hasAll(template, r.texts) {
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
	for _, r := range answers {
		if f.Think == "<think>" && f.Answer == "" && hasAll(template, r.texts) {
			f.Answer, f.Unanswer = r.open, r.end
		}
	}
	return f
}

// hasAll reports whether a template has all of some texts.
func hasAll(template string, texts []string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(template, s) })
}
