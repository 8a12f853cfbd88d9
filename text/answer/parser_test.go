package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/fault"
)

var tools = json.RawMessage(`[{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
	"n": {"type": "integer"}, "x": {"type": ["number", "null"]}, "s": {"type": "string"}, "b": {"anyOf": [{"type": "boolean"}, {"type": "array"}]}, "o": {"type": "object", "nullable": true}, "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]}, "any": {}}}}},
	{"name": "g"}]`)

const (
	dsBegin = "<｜tool▁calls▁begin｜>"
	dsEnd   = "<｜tool▁calls▁end｜>"
)

// cases are texts and what is in them, as shown has it.
var cases = []struct {
	name   string
	calls  Calls
	prompt string
	text   string
	want   string
}{
	{"plain", Hermes, "", "  Hi. \n", `"  Hi. \n"`},
	{"nothing", Hermes, "", "", ``},
	{"white space", Hermes, "", " \n", `" \n"`},
	{"call", Hermes, "", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, -2.50e+3, \"\\u00e9\\n\\\"\", {\"x\": null}, true]}}\n</tool_call>", `f({"a": [1, -2.50e+3, "\u00e9\n\"", {"x": null}, true]})`},
	{"text and calls", Hermes, "", "I look.\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n<tool_call>{\"arguments\":{\"a\":1},\"id\":7,\"name\":\"h\"}</tool_call>\n", `"I look." f({}) h({"a":1})`},
	{"text after a call", Hermes, "", "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\nSo.\n", `f({}) "\nSo.\n"`},
	{"list", Hermes, "", "<tool_call>[{\"name\":\"f\",\"arguments\":{}} , {\"name\":\"g\",\"parameters\":{}}]\n</tool_call>.", `f({}) g({}) "."`},
	{"list that breaks", Hermes, "", "<tool_call>[{\"name\":\"f\",\"arguments\":{}}, no]</tool_call>", `f({}) ", no]</tool_call>"`},
	{"cut after the arguments", Hermes, "", "<tool_call>{\"name\":\"f\",\"arguments\":{}}\n</tool", `f({})`},
	{"cut in a list", Hermes, "", "<tool_call>[{\"name\":\"f\",\"arguments\":{}}", `f({})`},
	{"cut in the arguments", Hermes, "", "a <tool_call>{\"name\":\"f\",\"arguments\":{\"a\":", `"a" f({"a":!" <tool_call>{\"name\":\"f\",\"arguments\":{\"a\":"`},
	{"cut before the name", Hermes, "", "a <tool_call>{\"na", `"a <tool_call>{\"na"`},
	{"no JSON", Hermes, "", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\": 01}}</tool_call>", `f({"a": 0!"<tool_call>{\"name\":\"f\",\"arguments\":{\"a\": 0" "1}}</tool_call>"`},
	{"no name", Hermes, "", "<tool_call>{\"arguments\":{}}</tool_call>", `"<tool_call>{\"arguments\":{}}</tool_call>"`},
	{"name twice", Hermes, "", "<tool_call>{\"name\":\"f\",\"name\":\"f\",\"arguments\":{}}</tool_call>", `f(!"<tool_call>{\"name\":\"f\",\"name\":\"f" "\",\"arguments\":{}}</tool_call>"`},
	{"no arguments", Hermes, "", "<tool_call>{\"name\":\"f\"}</tool_call>", `f(!"<tool_call>{\"name\":\"f\"}" "</tool_call>"`},
	{"arguments of another type", Hermes, "", "<tool_call>{\"name\":\"f\",\"arguments\":\"{}\"}</tool_call>", `f(!"<tool_call>{\"name\":\"f\",\"arguments\":" "\"{}\"}</tool_call>"`},
	{"arguments twice", Hermes, "", "<tool_call>{\"arguments\":{},\"parameters\":{},\"name\":\"f\"}", `"<tool_call>{\"arguments\":{},\"parameters\":{},\"name\":\"f\"}"`},
	{"something before the end", Hermes, "", "<tool_call>{\"name\":\"f\",\"arguments\":{}} x</tool_call>", `f({}!"<tool_call>{\"name\":\"f\",\"arguments\":{}}" " x</tool_call>"`},
	{"no name at all", Hermes, "", "<tool_call>{\"name\":\"\",\"arguments\":{}}</tool_call>", `"<tool_call>{\"name\":\"\",\"arguments\":{}}</tool_call>"`},
	{"name of another type", Hermes, "", "<tool_call>{\"name\":{},\"name\":\"f\"}", `"<tool_call>{\"name\":{},\"name\":\"f\"}"`},
	{"line end in a string", Hermes, "", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"\n\"}}", `f({"a":"!"<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"" "\n\"}}"`},
	{"closed twice", Hermes, "", "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call></tool_call>", `f({})`},
	{"no tag before the object", Hermes, "", "{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>", `f({"a": 1})`},
	{"an object that is the answer", Hermes, "", "{\"name\": \"Bob\", \"arguments\": {}}", `"{\"name\": \"Bob\", \"arguments\": {}}"`},
	{"another call before the end", Hermes, "", "<tool_call>{\"name\":\"f\",\"arguments\":{}}\n<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>", `f({}) g({})`},
	{"something in a list", Hermes, "", "<tool_call>[{\"name\":\"f\",\"arguments\":{}} x]", `f({}!"<tool_call>[{\"name\":\"f\",\"arguments\":{}}" " x]"`},
	{"empty list", Hermes, "", "<tool_call>[]</tool_call>", `"<tool_call>[]</tool_call>"`},
	{"marker in a string", Hermes, "", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"</tool_call><tool_call>\"}}</tool_call>", `f({"a":"</tool_call><tool_call>"})`},
	{"a call after what is none", Hermes, "", "<tool_call>{<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", `"<tool_call>{" f({})`},
	{"much white space", Hermes, "", strings.Repeat(" ", 70) + "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>" + strings.Repeat("\n", 70), `"      " f({}) "` + strings.Repeat(`\n`, 70) + `"`},
	{"white space in a marker", Hermes, "", "<tool_call>" + strings.Repeat(" ", 70) + "{\"name\":\"f\",\"arguments\":{}}", `"<tool_call>` + strings.Repeat(" ", 70) + `{\"name\":\"f\",\"arguments\":{}}"`},

	{"reasoning", Hermes, "", "\n<think>\nHm. <tool_call>\n</think>\n\nSo. <think>", `~"Hm. <tool_call>" "So. <think>"`},
	{"reasoning and a call", Hermes, "", "<think>Hm.</think>\n\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", `~"Hm." f({})`},
	{"no reasoning", Hermes, "", "<think>\n\n</think>\n\nSo.", `"So."`},
	{"reasoning without end", Hermes, "", "<think>\nHm. </thin", `~"Hm. </thin"`},
	{"reasoning begun", Hermes, "<|im_start|>assistant\n<think>\n", "Hm.\n</think>\n\nSo.", `~"Hm." "So."`},
	{"reasoning over", Hermes, "<think>\n\n</think>\n\n", "So. </think>", `"So. </think>"`},
	{"reasoning later", Hermes, "", "So <think>", `"So <think>"`},
	{"much white space before reasoning", Hermes, "", strings.Repeat(" ", 70) + "<think>a</think>", `"` + strings.Repeat(" ", 70) + `<think>a</think>"`},
	{"begins like reasoning", Hermes, "", " <thi", `" <thi"`},

	{"function", QwenCoder, "", "Yes.\n\n<tool_call>\n<function=f>\n<parameter=n>\n12\n</parameter>\n<parameter=s>\n\na \"1\"\\\t\x01</param\n\n</parameter>\n<parameter=x>\nnull\n</parameter>\n</function>\n</tool_call>", `"Yes." f({"n": 12, "s": "\na \"1\"\\\t\u0001</param\n", "x": null})`},
	{"values", QwenCoder, "", "<tool_call><function=f><parameter=n>1.5</parameter><parameter=b>True</parameter><parameter=o>{\"a\": [1]}</parameter><parameter=s>1</parameter><parameter=any>1</parameter><parameter=other>[]</parameter></function></tool_call>", `f({"n": "1.5", "b": true, "o": {"a": [1]}, "s": "1", "any": "1", "other": "[]"})`},
	{"more values", QwenCoder, "", "<tool_call><function=f><parameter=n>\n3.0\n</parameter><parameter=b> [1] </parameter><parameter=o>None</parameter><parameter=x>-1e3</parameter></function></tool_call>", `f({"n": 3.0, "b": [1], "o": null, "x": -1e3})`},
	{"large values", QwenCoder, "", "<tool_call><function=f><parameter=n>123456789012345678901234567890</parameter><parameter=x>1e400</parameter><parameter=either>2</parameter></function></tool_call>", `f({"n": 123456789012345678901234567890, "x": "1e400", "either": 2})`},
	{"parameter without name", QwenCoder, "", "<tool_call><function=f><parameter=>1</parameter></function></tool_call>", `f({!"<tool_call><function=f>" "<parameter=>1</parameter></function></tool_call>"`},
	{"long name", QwenCoder, "", "<tool_call><function=" + strings.Repeat("f", 300) + "></function>", `"<tool_call><function=` + strings.Repeat("f", 300) + `></function>"`},
	{"no parameters", QwenCoder, "", "<tool_call>\n<function=f>\n</function>\n</tool_call>\n<tool_call><function=g></function>", `f({}) g({})`},
	{"parameter twice", QwenCoder, "", "<tool_call><function=f><parameter=s>1</parameter><parameter=s>2</parameter></function></tool_call>", `f({"s": "1"!"<tool_call><function=f><parameter=s>1</parameter>" "<parameter=s>2</parameter></function></tool_call>"`},
	{"cut in a value", QwenCoder, "", "<tool_call><function=f><parameter=s>\na\n</parameter", `f({"s": "a!"<tool_call><function=f><parameter=s>\na" "\n</parameter"`},
	{"cut between parameters", QwenCoder, "", "<tool_call><function=f><parameter=n>1</parameter>", `f({"n": 1!"<tool_call><function=f><parameter=n>1</parameter>"`},
	{"no tag before a function", QwenCoder, "", "I will look.\n\n<function=f>\n<parameter=s>\nParis\n</parameter>\n</function>\n</tool_call>", `"I will look." f({"s": "Paris"})`},
	{"no tags around functions", QwenCoder, "", "<function=f>\n<parameter=n>\n1\n</parameter>\n</function>\n<function=g>\n</function>\nSo.", `f({"n": 1}) g({}) "\nSo."`},
	{"no such function", QwenCoder, "", "Write <function=NAME> and <function=h></function></tool_call>.", `"Write <function=NAME> and <function=h></function></tool_call>."`},
	{"no tag before the second function", QwenCoder, "", "<tool_call>\n<function=f>\n</function>\n<function=g>\n</function>\n</tool_call>\n", `f({}) g({})`},
	{"no end of a parameter", QwenCoder, "", "<tool_call>\n<function=f>\n<parameter=s>\nParis\n</function>\n</tool_call>", `f({"s": "Paris"})`},
	{"no ends of parameters", QwenCoder, "", "<function=f>\n<parameter=s>\na < b\n<parameter=n>\n12\n<parameter=b>true</function>", `f({"s": "a < b", "n": 12, "b": true})`},
	{"no end of the parameters", QwenCoder, "", "<tool_call>\n<function=f>\n<parameter=s>\nParis\n</parameter>\n</tool_call>\nSo.", `f({"s": "Paris"}) "\nSo."`},
	{"no end but the call's", QwenCoder, "", "<tool_call><function=f><parameter=s>\nParis\n</tool_call>", `f({"s": "Paris"})`},
	{"no end of the call", QwenCoder, "", "<tool_call>\n<function=f>\n</function>\nSo.", `f({}) "\nSo."`},
	{"spaces in tags", QwenCoder, "", "<tool_call><function=f ><parameter=s >a</parameter></function></tool_call>", `f({"s": "a"})`},
	{"a function after reasoning", QwenCoder, "", "<think>\nUse <function=f>.\n</think>\n\n<function=f></function>\n</tool_call>", `~"Use <function=f>." f({})`},
	{"no more than the beginning of a function", QwenCoder, "", "So <function=f>", `"So" f({!" <function=f>"`},
	{"JSON where tags are", QwenCoder, "", "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", `"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>"`},

	{"keys and values", GLM, "", "Yes.\n<tool_call>f\n<arg_key>n</arg_key>\n<arg_value>12</arg_value>\n<arg_key>s</arg_key><arg_value>\na</arg_value>\n</tool_call>\n<tool_call>g</tool_call>", `"Yes." f({"n": 12, "s": "\na"}) g({})`},
	{"JSON in a tag", GLM, "", "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", `"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>"`},

	{"bare", Llama, "", "{\"name\": \"f\", \"parameters\": {\"a\": \"1\"}}", `f({"a": "1"})`},
	{"several", Llama, "", "\n{\"name\": \"f\", \"parameters\": {}}; {\"type\": \"function\", \"name\": \"g\", \"parameters\": {}}", `f({}) g({})`},
	{"bare list", Llama, "", "[{\"name\": \"f\", \"parameters\": {}}, {\"name\": \"g\", \"parameters\": {}}] ok", `f({}) g({}) " ok"`},
	{"list and object", Llama, "", "[{\"name\": \"f\", \"parameters\": {}}]; {\"name\": \"g\", \"parameters\": {}} ok", `f({}) g({}) " ok"`},
	{"no tool", Llama, "", "{\"name\": \"Bob\", \"parameters\": {}}", `"{\"name\": \"Bob\", \"parameters\": {}}"`},
	{"JSON that is an answer", Llama, "", " {\"parameters\": {}, \"name\": \"f\"}", `" {\"parameters\": {}, \"name\": \"f\"}"`},
	{"after text", Llama, "", "So {\"name\": \"f\", \"parameters\": {}}", `"So {\"name\": \"f\", \"parameters\": {}}"`},
	{"python", Llama, "", "<|python_tag|>{\"name\": \"h\", \"parameters\": {}}; no", `h({}) "; no"`},
	{"written", Written, "", "So.\n<tool_call>\n{\"name\": \"h\", \"arguments\": {\"a\": 1}}\n</tool_call>\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", `"So." h({"a": 1}) f({})`},
	{"written without tags", Written, "", "{\"name\": \"f\", \"arguments\": {\"a\": 1}}", `f({"a": 1})`},
	{"written without the first tag", Written, "", "\n[{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\", \"arguments\": {}}]\n</tool_call> ok", `f({}) g({}) " ok"`},
	{"written with tags after one without", Written, "", "{\"name\": \"f\", \"arguments\": {}}\n<tool_call>{\"name\": \"g\", \"arguments\": {}} no", `f({}) g({}!"\n<tool_call>{\"name\": \"g\", \"arguments\": {}}" " no"`},
	{"no tool that was written", Written, "", "{\"name\": \"Bob\", \"arguments\": {}}", `"{\"name\": \"Bob\", \"arguments\": {}}"`},
	{"code", Llama, "", "<|python_tag|>f.call(a=1)", `"<|python_tag|>f.call(a=1)"`},

	{"list of calls", Mistral, "", "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"id\": \"abcdefghi\"}, {\"name\": \"g\", \"arguments\": {}}]", `f({"a": 1}) g({})`},
	{"names and arguments", Mistral, "", "So.[TOOL_CALLS]f[CALL_ID]abcdefghi[ARGS]{\"a\": 1}[TOOL_CALLS]g{}", `"So." f#abcdefghi({"a": 1}) g({})`},
	{"no arguments of Mistral", Mistral, "", "[TOOL_CALLS]f[ARGS]", `"[TOOL_CALLS]f[ARGS]"`},

	{"piped list", Piped, "", "<|tool_call|>[{\"name\": \"f\", \"arguments\": {}}]<|/tool_call|>", `f({})`},
	{"piped object", Piped, "", "<|tool_call|>{\"name\": \"f\", \"arguments\": {}} <|/tool_call|> <|tool_call|>{\"name\": \"g\", \"arguments\": {}}", `f({}) g({})`},

	{"block", DeepSeek, "", "Hm." + dsBegin + callBegin + "function" + toolSep + "f\n```json\n{\"a\": 1}\n```" + callEnd + "\n" + callBegin + "function" + toolSep + "g\n```json\n{}\n```" + callEnd + dsEnd, `"Hm." f({"a": 1}) g({})`},
	{"no block", DeepSeek, "", dsBegin + callBegin + "f" + toolSep + "{\"a\": 1}" + callEnd + callBegin + "g" + toolSep + "{}" + callEnd + dsEnd + " So.", `f({"a": 1}) g({}) " So."`},
	{"no call", DeepSeek, "", dsBegin + " none " + dsEnd, `"` + dsBegin + ` none ` + dsEnd + `"`},
	{"block without end", DeepSeek, "", callBegin + "function" + toolSep + "f\n```json\n{}" + callEnd, `f({}!"` + callBegin + "function" + toolSep + `f\n` + "```" + `json\n{}" "` + callEnd + `"`},

	{"Nemotron", Nemotron, "", "<TOOLCALL>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}, {\"name\": \"g\", \"arguments\": {}}]</TOOLCALL>", `f({"a": 1}) g({})`},

	{"Hunyuan", Hunyuan, "", "So.\n<tool_calls>[{\"name\": \"f\", \"arguments\": {\"a\": 1}}, {\"name\": \"g\", \"arguments\": {}}]</tool_calls>", `"So." f({"a": 1}) g({})`},

	{"calls of Python", LFM, "", "So.<|tool_call_start|>[f(s=\"a \\\"b\\\" \\\\ \\n\\'\", n=-3, b=True, o=None), g()]<|tool_call_end|>Ok.", `"So." f({"s": "a \"b\" \\ \n'", "n": -3, "b": true, "o": null}) g({}) "Ok."`},
	{"other quotes", LFM, "", "<|tool_call_start|>[f(s='a \"b\" <|tool_call_end|>)]', )]<|tool_call_end|>", `f({"s": "a \"b\" <|tool_call_end|>)]"})`},
	{"lists and dictionaries", LFM, "", "<|tool_call_start|>[ f ( o = {'a': [1, 2.5e3, {}, ], \"b\": [] } , x=[['é\n']])]<|tool_call_end|>", `f({"o": {"a": [1, 2.5e3, {}], "b": []}, "x": [["é\n"]]})`},
	{"objects of LFM", LFM, "", "<|tool_call_start|>[{\"name\": \"f\", \"arguments\": {}}]<|tool_call_end|>", `f({})`},
	{"escapes", LFM, "", "<|tool_call_start|>[f(s='\\u00e9\\d\\\n')]<|tool_call_end|>", `f({"s": "é\\d"})`},
	{"escapes that Python does not know", LFM, "", "<|tool_call_start|>[f(s='\\é\\ \\\t\\\\')]<|tool_call_end|>", `f({"s": "\\é\\ \\\t\\"})`},
	{"escapes of Python", LFM, "", "<|tool_call_start|>[f(s='\\x41\\U0001F600\\0\\101\\7z\\a\\v\\N{BULLET}\\N{latin small letter e with acute}\\ud83d\\ude00')]<|tool_call_end|>", `f({"s": "A😀\u0000A\u0007z\u0007\u000b•é\ud83d\ude00"})`},
	{"escapes without a character", LFM, "", "<|tool_call_start|>[f(s='\\xg1')]<|tool_call_end|>", `f({"s": "!"<|tool_call_start|>[f(s='" "\\xg1')]<|tool_call_end|>"`},
	{"names without a character", LFM, "", "<|tool_call_start|>[f(s='\\N{NO SUCH NAME}')]<|tool_call_end|>", `f({"s": "!"<|tool_call_start|>[f(s='" "\\N{NO SUCH NAME}')]<|tool_call_end|>"`},
	{"tuples", LFM, "", "<|tool_call_start|>[f(a=(800, 600), b=(), c=(1,), d=(1), e=((1, 2), ('a', )), f=('a'\n 'b'))]<|tool_call_end|>", `f({"a": [800, 600], "b": [], "c": [1], "d": 1, "e": [[1, 2], ["a"]], "f": "ab"})`},
	{"sets", LFM, "", "<|tool_call_start|>[f(a={'a', 'b'}, b={1}, c={(1, 2), 3,}, d={})]<|tool_call_end|>", `f({"a": ["a", "b"], "b": [1], "c": [[1, 2], 3], "d": {}})`},
	{"keys that are not strings", LFM, "", "<|tool_call_start|>[f(o={1: 'a', -2.50: 2, True: 3, None: 4, 'a' 'b': {0x10: 5}})]<|tool_call_end|>", `f({"o": {"1": "a", "-2.5": 2, "true": 3, "null": 4, "ab": {"16": 5}}})`},
	{"numbers of Python", LFM, "", "<|tool_call_start|>[f(a=+7, b=.5, c=5., d=1_000, e=0x1F, f=0b11, g=0o17, h=-.5e-1_0, i=- 3, j=00, k=007.5, l=1E5)]<|tool_call_end|>",
		`f({"a": 7, "b": 0.5, "c": 5.0, "d": 1000, "e": 31, "f": 3, "g": 15, "h": -0.5e-10, "i": -3, "j": 0, "k": 7.5, "l": 1e5})`},
	{"strings of Python", LFM, "", "<|tool_call_start|>[f(a='a' \"b\"\n'c', b=\"\"\"a\"b''\n\"\"\", c=r'\\d\\'', d=R\"\"\"\\\"\"\"\", e=u'a', f='', g='''''', h='a'   )]<|tool_call_end|>",
		`f({"a": "abc", "b": "a\"b''\n", "c": "\\d\\'", "d": "\\\"", "e": "a", "f": "", "g": "", "h": "a"})`},
	{"lines of Python", LFM, "", "<|tool_call_start|>[f(a=1, # one\n  b=2 \\\n, c=[ # none, so far\n])]<|tool_call_end|>", `f({"a": 1, "b": 2, "c": []})`},
	{"bytes", LFM, "", "<|tool_call_start|>[f(s=b'a')]<|tool_call_end|>", `f({"s": !"<|tool_call_start|>[f(s=" "b'a')]<|tool_call_end|>"`},
	{"expressions in strings", LFM, "", "<|tool_call_start|>[f(s=f'{a}')]<|tool_call_end|>", `f({"s": !"<|tool_call_start|>[f(s=" "f'{a}')]<|tool_call_end|>"`},
	{"complex numbers", LFM, "", "<|tool_call_start|>[f(n=1+2j)]<|tool_call_end|>", `f({"n": !"<|tool_call_start|>[f(n=" "1+2j)]<|tool_call_end|>"`},
	{"maps in sets", LFM, "", "<|tool_call_start|>[f(n={{}})]<|tool_call_end|>", `f({"n": !"<|tool_call_start|>[f(n={" "{}})]<|tool_call_end|>"`},
	{"values without names", LFM, "", "<|tool_call_start|>[f(1)]<|tool_call_end|>", `f({!"<|tool_call_start|>[f(" "1)]<|tool_call_end|>"`},
	{"variables", LFM, "", "<|tool_call_start|>[f(n=1, s=x)]<|tool_call_end|>", `f({"n": 1, "s": !"<|tool_call_start|>[f(n=1, s=" "x)]<|tool_call_end|>"`},
	{"sums", LFM, "", "<|tool_call_start|>[f(n=1 + 2)]<|tool_call_end|>", `f({"n": 1!"<|tool_call_start|>[f(n=1" " + 2)]<|tool_call_end|>"`},
	{"names twice", LFM, "", "<|tool_call_start|>[f(n=1, n=2)]<|tool_call_end|>", `f({"n": 1!"<|tool_call_start|>[f(n=1," " n=2)]<|tool_call_end|>"`},
	{"keys without quotes", LFM, "", "<|tool_call_start|>[f(o={a: 1})]<|tool_call_end|>", `f({"o": !"<|tool_call_start|>[f(o={" "a: 1})]<|tool_call_end|>"`},
	{"cut after a call", LFM, "", "<|tool_call_start|>[f(n=1), g()", `f({"n": 1}) g({})`},
	{"cut in a string", LFM, "", "<|tool_call_start|>[f(n=1, s='a", `f({"n": 1, "s": "a!"<|tool_call_start|>[f(n=1, s='a"`},
	{"cut in a number", LFM, "", "<|tool_call_start|>[f(n=1", `f({"n": !"<|tool_call_start|>[f(n=" "1"`},
	{"a list that does not end", LFM, "", "<|tool_call_start|>[f() x", `f({}!"<|tool_call_start|>[f()" " x"`},
	{"numbers that JSON has not", LFM, "", "<|tool_call_start|>[f(n=01)]", `f({"n": !"<|tool_call_start|>[f(n=" "01)]"`},
	{"names in quotes", LFM, "", "<|tool_call_start|>[f('n'=1, \"s\\n\" = 'a', 'n'=2)]<|tool_call_end|>", `f({"n": 1, "s\n": "a", "n"!"<|tool_call_start|>[f('n'=1, \"s\\n\" = 'a', 'n'" "=2)]<|tool_call_end|>"`},
	{"commas", LFM, "", "<|tool_call_start|>[f(x=[1,],o={'a':1,'a':2,},)]", `f({"x": [1], "o": {"a": 1, "a": 2}})`},
	{"commas without values", LFM, "", "<|tool_call_start|>[f(x=[,])]", `f({"x": [!"<|tool_call_start|>[f(x=[" ",])]"`},
	{"two commas", LFM, "", "<|tool_call_start|>[f(n=1,,)]", `f({"n": 1!"<|tool_call_start|>[f(n=1," ",)]"`},
	{"brackets that do not match", LFM, "", "<|tool_call_start|>[f(x=[1})]", `f({"x": [1!"<|tool_call_start|>[f(x=[1" "})]"`},
	{"very deep", LFM, "", "<|tool_call_start|>[f(o=" + strings.Repeat("[", 200), `f({"o": ` + strings.Repeat("[", 100) + `!"<|tool_call_start|>[f(o=` + strings.Repeat("[", 100) + `" "` + strings.Repeat("[", 100) + `"`},

	{"calls on lines", OLMo, "", "Yes.\n<function_calls>f(s=\"a\", n=2)\ng()</function_calls>\nOk", `"Yes." f({"s": "a", "n": 2}) g({}) "\nOk"`},
	{"a word after a call", OLMo, "", "<function_calls>f() is it</function_calls>", `f({}) " is it</function_calls>"`},

	{"Gemma", Gemma, "", "Hm.<|tool_call>call:f{n:3,s:<|\"|>a \"b\" \\n }<|\"|>,o:{a:<|\"|><tool_call|><|\"|>,b:[1,true,null]}}<tool_call|><|tool_call>call:g{}<tool_call|>So.", `"Hm." f({"n": 3, "s": "a \"b\" \\n }", "o": {"a": "<tool_call|>", "b": [1, true, null]}}) g({}) "So."`},
	{"no call of Gemma", Gemma, "", "<|tool_call>f{}<tool_call|>", `"<|tool_call>f{}<tool_call|>"`},
	{"names in quotes", Gemma, "", "<|tool_call>call:f{<|\"|>n<|\"|>:1, o:{<|\"|>a b<|\"|>: {c:<|\"|><|\"|>}}}<tool_call|>", `f({"n": 1, "o": {"a b": {"c": ""}}})`},
	{"cut in a quote", Gemma, "", "<|tool_call>call:f{s:<|\"|>a<|\"", `f({"s": "a!"<|tool_call>call:f{s:<|\"|>a" "<|\""`},
	{"two calls in one", Gemma, "", "<|tool_call>call:f{} call:g{}<tool_call|>", `f({}!"<|tool_call>call:f{}" " call:g{}<tool_call|>"`},
	{"strings of JSON", Gemma, "", "<|tool_call>call:f{s:\"a\"}<tool_call|>", `f({"s": !"<|tool_call>call:f{s:" "\"a\"}<tool_call|>"`},

	{"unknown", None, "", "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", `"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>"`},
}

func counted() func() string {
	n := 0
	return func() string { n++; return fmt.Sprint("id", n) }
}

// events takes a text apart that comes in pieces.
func events(t testing.TB, f Format, o Options, pieces ...string) []Event {
	t.Helper()
	o.NewID = counted()
	p, err := NewParser(f, o)
	if err != nil {
		t.Fatal(err)
	}
	var list []Event
	for _, piece := range pieces {
		list = append(list, p.Add(piece)...)
	}
	return joined(append(list, p.End()...))
}

// joined joins the pieces of one thing.
func joined(list []Event) []Event {
	var out []Event
	for _, e := range list {
		if n := len(out) - 1; n >= 0 && out[n].Kind == e.Kind && out[n].Index == e.Index && e.Kind != CallBroken {
			out[n].Text += e.Text
			continue
		}
		out = append(out, e)
	}
	return out
}

// shown writes events as cases have them: "text" ~"reasoning" name(arguments), with ! and the text
// for ) if the call is broken.
func shown(t testing.TB, list []Event) string {
	var words []string
	ids := counted()
	calls, arguments := 0, ""
	for _, e := range list {
		last := len(words) - 1
		switch e.Kind {
		case Text:
			words = append(words, fmt.Sprintf("%q", e.Text))
		case Reasoning:
			words = append(words, fmt.Sprintf("~%q", e.Text))
		case CallBegin:
			word := e.Call.Name
			if e.Call.ID == "" || len(e.Call.ID) == 9 {
				word += "#" + e.Call.ID
			} else if want := ids(); e.Call.ID != want {
				t.Errorf("ID %s, want %s", e.Call.ID, want)
			}
			words, arguments = append(words, word+"("), ""
		case CallArguments:
			words[last] += e.Text
			arguments += e.Text
		case CallEnd:
			words[last] += ")"
			if e.Call.Arguments != arguments {
				t.Errorf("arguments %s, want those that were streamed, %s", e.Call.Arguments, arguments)
			}
		case CallBroken:
			words[last] += fmt.Sprintf("!%q", e.Text)
		}
		if e.Kind >= CallBegin && e.Index != calls {
			t.Errorf("%v: call %d, want %d", e.Kind, e.Index, calls)
		}
		if e.Kind == CallEnd {
			calls++
		}
	}
	return strings.Join(words, " ")
}

func format(c Calls) Format { return Format{Calls: c, Think: "<think>", Unthink: "</think>"} }

func TestParser(t *testing.T) {
	for _, x := range cases {
		t.Run(string(x.calls)+"/"+x.name, func(t *testing.T) {
			o := Options{Tools: tools, Prompt: x.prompt}
			whole := events(t, format(x.calls), o, x.text)
			if got := shown(t, whole); got != x.want {
				t.Errorf("got  %s\nwant %s", got, x.want)
			}
			for _, n := range []int{1, 3, 7} {
				var pieces []string
				for piece := range slices.Chunk([]byte(x.text), n) {
					pieces = append(pieces, string(piece))
				}
				if got := events(t, format(x.calls), o, pieces...); !reflect.DeepEqual(got, whole) {
					t.Errorf("in pieces of %d bytes: %s\nwant %s", n, shown(t, got), x.want)
				}
			}
		})
	}
}

// TestSplits cuts texts at random: what comes out is the same.
func TestSplits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, x := range cases {
		for _, wholeCalls := range []bool{false, true} {
			o := Options{Tools: tools, Prompt: x.prompt, WholeCalls: wholeCalls}
			want := events(t, format(x.calls), o, x.text)
			for range 50 {
				pieces := split(x.text, random)
				if got := events(t, format(x.calls), o, pieces...); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: %q: %s\nwant %s", x.name, pieces, shown(t, got), shown(t, want))
				}
			}
		}
	}
}

// split cuts a text, even within characters.
func split(s string, random *rand.Rand) (pieces []string) {
	for s != "" {
		n := 1 + random.IntN(min(len(s), 1+random.IntN(20)))
		pieces, s = append(pieces, s[:n]), s[n:]
	}
	return pieces
}

// TestWholeCalls gives no call that is not whole.
func TestWholeCalls(t *testing.T) {
	for _, x := range cases {
		list := events(t, format(x.calls), Options{Tools: tools, Prompt: x.prompt, WholeCalls: true}, strings.Split(x.text, "")...)
		var whole, streamed Answer
		for i, e := range list {
			if e.Kind == CallBroken || e.Kind == CallEnd && list[i-1].Kind != CallArguments && list[i-1].Kind != CallBegin {
				t.Errorf("%s: %v", x.name, e.Kind)
			}
			whole.Add(e)
		}
		for _, e := range events(t, format(x.calls), Options{Tools: tools, Prompt: x.prompt}, x.text) {
			streamed.Add(e)
		}
		for _, a := range []*Answer{&whole, &streamed} {
			for i := range a.Calls {
				a.Calls[i].ID = ""
			}
		}
		if !reflect.DeepEqual(whole, streamed) {
			t.Errorf("%s: %+v, want %+v", x.name, whole, streamed)
		}
	}
}

// TestSoon gives things as soon as they are certain.
func TestSoon(t *testing.T) {
	p, err := NewParser(format(QwenCoder), Options{Tools: tools, NewID: counted()})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ add, want string }{
		{"<thi", ``}, {"nk>a", `~"a"`}, {" ", ``}, {"b</", `~" b"`}, {"b", `~"</b"`}, {"</think>c", `"c"`}, {" <", ``}, {"d", `" <d"`},
		{"\n<tool_call>\n<function=f", ``}, {">\n", `f({`}, {"<parameter=s>", `"s": "`}, {"\nab\n", `ab`}, {"c", `\nc`}, {"\n</parameter>", `"`}, {"</function>", `})`}, {"</tool_call>", ``},
	} {
		var got string
		for _, e := range p.Add(x.add) {
			switch e.Kind {
			case CallArguments:
				got += e.Text
			case CallEnd:
				got += ")"
			default:
				got += shown(t, []Event{e})
			}
		}
		if got != x.want {
			t.Errorf("after %q: %s, want %s", x.add, got, x.want)
		}
	}
}

// TestScanner compares the scanner with encoding/json on JSON whose bytes are changed at random.
func TestScanner(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const bytes = "{}[]:,\"\\ \n\x01-+.0123eEutrfalsn5x"
	for _, s := range []string{`{}`, `{"a":1}`, `{"a": -0.5e+10, "b": [0, 10, 1E5, 2e-3, 0.0, []], "c": {"d": null}, "": "\u00Aeé\n\\\"\/"}`, `{"a":[true,false,[[{}]]] , "b":12}`, `{"a":-1}`, `{"a":0e1}`, `{"a":1.5}`} {
		for range 20000 {
			b := []byte(s)
			for range random.IntN(3) {
				at := random.IntN(len(b))
				switch random.IntN(3) {
				case 0:
					b[at] = bytes[random.IntN(len(bytes))]
				case 1:
					b = append(b[:at], b[at+1:]...)
				default:
					b = append(b[:at], append([]byte{bytes[random.IntN(len(bytes))]}, b[at:]...)...)
				}
				if len(b) == 0 {
					b = []byte{' '}
				}
			}
			var scan scanner
			n := 0
			for ok := true; ok && n < len(b) && (n == 0 || len(scan.stack) > 0 || isSpace(b[n-1])); {
				if ok = scan.step(b[n]); ok {
					n++
				}
			}
			ok := len(scan.stack) == 0 && n > 0 && b[n-1] == '}' && strings.Trim(string(b[n:]), spaces) == ""
			if want := json.Valid(b) && strings.HasPrefix(strings.TrimLeft(string(b), spaces), "{"); ok != want {
				t.Fatalf("%q: %v, want %v", b, ok, want)
			}
		}
	}
	for depth, want := range map[int]bool{maxDepth: true, maxDepth + 1: false} {
		var scan scanner
		ok := true
		for range depth {
			for _, c := range []byte(`{"":`) {
				ok = ok && scan.step(c)
			}
		}
		if ok != want {
			t.Errorf("depth %d: %v", depth, ok)
		}
	}
}

// TestTypes reads schemas in schemas, to a depth.
func TestTypes(t *testing.T) {
	s := `{"type": ["integer", 1]}`
	for range 7 {
		s = `{"anyOf": [` + s + `]}`
	}
	if got := types(json.RawMessage(s), 8); !reflect.DeepEqual(got, []string{"integer"}) {
		t.Errorf("types %q", got)
	}
	if got := types(json.RawMessage(`{"anyOf": [`+s+`]}`), 8); got != nil {
		t.Errorf("types of a deeper one %q", got)
	}
}

// TestNoTools verifies that a parser without tools finds no calls.
func TestNoTools(t *testing.T) {
	for _, none := range []any{nil, []any{}, json.RawMessage("null")} {
		for _, x := range cases {
			a, err := Parse(Format{Calls: x.calls}, Options{Tools: none}, x.text)
			if err != nil || a.Content != x.text || a.Calls != nil || a.Reasoning != "" {
				t.Errorf("%s: %+v, %v", x.name, a, err)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for _, x := range []struct {
		f    Format
		o    Options
		want error
	}{
		{Format{Calls: "other"}, Options{}, fault.ErrOption},
		{Format{Think: "<think>"}, Options{}, fault.ErrOption},
		{Format{Think: "<think>", Unthink: " "}, Options{}, fault.ErrOption},
		{Format{Answer: "<answer>"}, Options{}, fault.ErrOption},
		{Format{Answer: "<answer>", Unanswer: "</answer> "}, Options{}, fault.ErrOption},
		{Format{}, Options{Tools: 1}, fault.ErrTools},
		{Format{}, Options{Tools: []int{1}}, fault.ErrTools},
		{Format{}, Options{Tools: func() {}}, fault.ErrTools},
	} {
		if _, err := NewParser(x.f, x.o); !errors.Is(err, x.want) {
			t.Errorf("%+v %v: error %v, want %v", x.f, x.o.Tools, err, x.want)
		}
		if _, err := Parse(x.f, x.o, ""); !errors.Is(err, x.want) {
			t.Errorf("Parse: %+v: error %v, want %v", x.f, err, x.want)
		}
	}
}

func TestIDs(t *testing.T) {
	for c, want := range map[Calls]string{Mistral: "#########", Hermes: "call_########################"} {
		id := randomID(c)()
		masked := strings.Map(func(r rune) rune {
			if r == '_' {
				return r
			}
			return '#'
		}, strings.TrimPrefix(id, "call_"))
		if strings.HasPrefix(id, "call_") {
			masked = "call_" + masked
		}
		if masked != want || id == randomID(c)() {
			t.Errorf("%s: %s, want another each time like %s", c, id, want)
		}
	}
}

// long has, for each format, texts that never become a call: a beginning, and the text that is
// repeated after it.
var long = map[Calls][][2]string{
	None:    {{"", "<tool_call>"}},
	Hermes:  {{"", "<tool_call>"}, {"", "<tool_call>["}, {"", `<tool_call>{"name":"f","arguments":`}, {`<tool_call>{"name":"f","arguments":{"s":"`, `\n`}, {`<tool_call>{"name":"f","arguments":{"any":[`, "1,"}},
	Written: {{"", "<tool_call>"}, {"", "["}, {`{"name":"f","arguments":{"s":"`, "a"}},
	QwenCoder: {{"", "<tool_call>"}, {"", "<function="}, {"", "<tool_call><function=f><parameter=s>"}, {"<tool_call><function=f><parameter=s>", "</parameter"}, {"<tool_call><function=f><parameter=n>", "1"},
		{"<tool_call><function=f><parameter=s>", "\n"}},
	GLM:   {{"", "<tool_call>"}, {"", "<tool_call>f<arg_key>"}, {"<tool_call>f<arg_key>s</arg_key><arg_value>", "</arg_value"}, {"<tool_call>f<arg_key>n</arg_key><arg_value>", "1"}},
	Llama: {{"", "<|python_tag|>"}, {"", `{"name":`}, {"", "["}, {`{"name":"f","parameters":{"s":"`, "a"}},
	Mistral: {{"", "[TOOL_CALLS]"}, {"", "[TOOL_CALLS]f[CALL_ID]a"}, {"[TOOL_CALLS]f[ARGS]", " "}, {`[TOOL_CALLS]f{"s":"`, "a"},
		{`[TOOL_CALLS][{"name":"f","arguments":{"s":"`, "a"}},
	Piped: {{"", "<|tool_call|>"}, {`<|tool_call|>{"name":"f","arguments":{"s":"`, "<|/tool_call|>"}},
	DeepSeek: {{"", dsBegin}, {"", callBegin}, {"", callBegin + "function" + toolSep}, {callBegin + "function" + toolSep + "f\n```json\n{\"s\":\"", "a"},
		{callBegin + "f" + toolSep + `{"s":"`, callEnd}},
	Hunyuan:  {{"", "<tool_calls>"}, {`<tool_calls>[{"name":"f","arguments":{"s":"`, "a"}},
	Nemotron: {{"", "<TOOLCALL>"}, {"", "<TOOLCALL>["}, {`<TOOLCALL>[{"name":"f","arguments":{"s":"`, "a"}},
	LFM: {{"", "<|tool_call_start|>"}, {"", "<|tool_call_start|>[f(s='"}, {"<|tool_call_start|>[f(s='", "a"}, {"<|tool_call_start|>[f(s='", `\n`}, {"<|tool_call_start|>[f(any=[", "1,"},
		{"<|tool_call_start|>[f(o={'a':[", "'b', "}, {"<|tool_call_start|>[f(o={'", "a"}, {`<|tool_call_start|>[{"name":"f","arguments":{"s":"`, "a"}},
	OLMo:  {{"", "<function_calls>"}, {"", "<function_calls>f("}, {`<function_calls>f(s="`, "a"}, {`<function_calls>f(any=[`, "{},"}},
	Gemma: {{"", "<|tool_call>"}, {"", "<|tool_call>call:f{"}, {"<|tool_call>call:f{s:" + gemmaQuote, "<"}, {"<|tool_call>call:f{o:{", "a:1,"}, {"<|tool_call>call:f{any:[", gemmaQuote + "a" + gemmaQuote + ","}},
}

// TestLong takes apart in linear time what repeats without end, as it comes and as a whole: four
// times the text takes less than ten times the time.
func TestLong(t *testing.T) {
	const times = 100_000
	for c := range families {
		if long[c] == nil {
			t.Errorf("%q: no long texts", c)
		}
		for _, parts := range append(long[c], [2]string{"", " "}, [2]string{"", "<"}, [2]string{"<think>", "</"}, [2]string{"<think>a", " </think"}) {
			for _, whole := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s+%s whole %v", c, parts[0], parts[1], whole), func(t *testing.T) {
					t.Parallel()
					var grew float64
					for range 5 { // another program may have the processor meanwhile
						short := apart(t, c, parts, times/4, whole, time.Minute)
						most := apart(t, c, parts, times, whole, max(10*short, 200*time.Millisecond))
						if grew = float64(most) / float64(short); most < 200*time.Millisecond || grew < 10 {
							return
						}
					}
					t.Errorf("four times the text takes %.1f times the time, or more", grew)
				})
			}
		}
	}
}

// apart returns how long a parser takes for a text that repeats its second part. It gives up after
// a time.
func apart(t *testing.T, c Calls, parts [2]string, times int, whole bool, most time.Duration) time.Duration {
	text := parts[0] + strings.Repeat(parts[1], times)
	piece := len(parts[1])
	if whole {
		piece = len(text)
	}
	p, err := NewParser(format(c), Options{Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	n, began := 0, time.Now()
	count := func(list []Event) {
		for _, e := range list {
			if e.Kind == Text || e.Kind == CallBroken || e.Kind == Reasoning {
				n += len(e.Text)
			}
		}
	}
	for at := 0; at < len(text); at += piece {
		if count(p.Add(text[at:min(len(text), at+piece)])); time.Since(began) > most && !whole {
			return time.Since(began)
		}
	}
	count(p.End())
	if want := len(strings.TrimPrefix(text, "<think>")); n != want {
		t.Errorf("%d bytes, want %d", n, want)
	}
	return time.Since(began)
}

// FuzzParser takes anything apart: in pieces as whole, and without calls and reasoning it is as it
// was.
func FuzzParser(f *testing.F) {
	for i, x := range cases {
		f.Add(uint8(i), x.text, uint64(i))
	}
	all := []Calls{None, Hermes, QwenCoder, GLM, Llama, Mistral, Piped, DeepSeek, Written, Nemotron, LFM, OLMo, Gemma, Hunyuan}
	f.Fuzz(func(t *testing.T, which uint8, text string, seed uint64) {
		form := format(all[int(which)%len(all)])
		o := Options{Tools: tools, WholeCalls: seed%2 == 0}
		want := events(t, form, o, text)
		if got := events(t, form, o, split(text, rand.New(rand.NewPCG(seed, 0)))...); !reflect.DeepEqual(got, want) {
			t.Fatalf("in pieces %s\nwhole %s", shown(t, got), shown(t, want))
		}
		var a Answer
		for _, e := range want {
			a.Add(e)
		}
		for _, c := range a.Calls {
			var v map[string]any
			if err := json.Unmarshal([]byte(c.Arguments), &v); err != nil || c.Name == "" || c.ID == "" {
				t.Errorf("call %+v: %v", c, err)
			}
		}
		if a.Calls == nil && !strings.Contains(text, form.Think) && a.Content != text {
			t.Errorf("%q, want %q", a.Content, text)
		}
		if kept := without(a.Reasoning + a.Content); a.Calls == nil && !strings.Contains(without(text), kept) && without(strings.Replace(strings.Replace(text, form.Think, "", 1), form.Unthink, "", 1)) != kept {
			t.Errorf("reasoning %q and answer %q of %q", a.Reasoning, a.Content, text)
		}
	})
}

// without is s without white space.
func without(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < 0x80 && isSpace(byte(r)) }), "")
}

// TestTags has text between tags after the reasoning, as Hunyuan and ERNIE 4.5 Thinking write it.
func TestTags(t *testing.T) {
	for _, x := range []struct{ prompt, text, want string }{
		{"", "<think>\nHm.\n</think>\n<answer>\nSo.\n</answer>", `~"Hm." "So."`},
		{"", "<think>\n\n</think>\n<answer>\nSo. <b>\n\nYes.\n</answer>\n", `"So. <b>\n\nYes."`},
		{"", "<answer>So.</answer>", `"So."`},
		{"<think>\n", "Hm.\n</think>\n\n<answer>\nSo.\n</answer>\n", `~"Hm." "So."`},
		{"<think>\n\n</think>\n", "<answer>\nSo.\n</answer>", `"So."`},
		{"<think>\n\n</think>\n<answer>\n", "So.\n</answer>", `"So."`},
		{"<answer>", "<answer> <think>", `"<answer> <think>"`},
		{"", "<think>Hm.</think><answer>So.", `~"Hm." "So."`},
		{"", "<think>Hm.</think><answer>So.\n</ans", `~"Hm." "So.\n</ans"`},
		{"", "<think>Hm.</think>\nSo. </answer>", `~"Hm." "So. </answer>"`},
		{"", "<think>Hm. <answer></think>So. <answer>a</answer>", `~"Hm. <answer>" "So. <answer>a</answer>"`},
		{"", "<think>Hm.</think><ans", `~"Hm." "<ans"`},
		{"", "<answer>So.</answer> And <answer>a</answer>", `"So.And <answer>a</answer>"`},
		{"", "<answer> <think>Hm.</think></answer>", `"<think>Hm.</think>"`},
		{"", "<think>Hm.</think><answer></answer>", `~"Hm."`},
		{"", "<think>Hm.</think>\n<answer>\nI look.\n</answer>\n<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"</answer>\"}}</tool_call>\n", `~"Hm." "I look." f({"a":"</answer>"})`},
		{"", "<think>Hm.</think><answer>\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n</answer>", `~"Hm." f({})`},
		{"", "<think>Hm.</think>\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", `~"Hm." f({})`},
	} {
		for _, tag := range []string{"answer", "response"} {
			in := func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "answer", tag), "ans", tag[:3]) }
			f := format(Hermes)
			f.Answer, f.Unanswer = "<"+tag+">", "</"+tag+">"
			o := Options{Tools: tools, Prompt: in(x.prompt)}
			text, want := in(x.text), in(x.want)
			if got := shown(t, events(t, f, o, text)); got != want {
				t.Errorf("after %q, %q: got %s, want %s", o.Prompt, text, got, want)
			}
			if got := shown(t, events(t, f, o, strings.Split(text, "")...)); got != want {
				t.Errorf("after %q, %q letter by letter: got %s, want %s", o.Prompt, text, got, want)
			}
		}
	}
}

// TestGemmaReasoning has reasoning in a channel, whose first marker is a token and a word.
func TestGemmaReasoning(t *testing.T) {
	f := Format{Calls: Gemma, Think: "<|channel>thought", Unthink: "<channel|>"}
	for _, token := range []string{"<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", `<|"|>`} {
		if !slices.Contains(f.Markers(), token) {
			t.Errorf("markers %q, want %s among them", f.Markers(), token)
		}
	}
	for text, want := range map[string]string{
		"<|channel>thought\nHm.\n<channel|>So.":                               `~"Hm." "So."`,
		"<|channel>thought\n<channel|>So.":                                    `"So."`,
		"<|channel>thought\nHm.<channel|><|tool_call>call:f{n:1}<tool_call|>": `~"Hm." f({"n": 1})`,
	} {
		if got := shown(t, events(t, f, Options{Tools: tools}, text[:12], text[12:])); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
