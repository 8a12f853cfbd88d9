package tokenizer

// The pre-tokenizers that tokenizer.ggml.pre of GGUF files names, as llama.cpp's converter writes
// them.

import (
	"strings"
)

// ggufPre describes how a kind of byte-level tokenizer cuts texts before BPE merges bytes.
type ggufPre struct {
	cuts         []string // patterns that isolate their matches, one after the other
	digits       bool     // isolate each digit before the patterns cut
	nfc          bool     // texts are normalized first
	ignoreMerges bool     // a word that is a token is not merged
	begins       bool     // begin with bos, unless the file says otherwise
	ends         ggufEnds
}

// ggufEnds says which tokens encoders put around texts.
type ggufEnds int

const (
	byFile ggufEnds = iota // decoders: as the keys in the file say
	robertaEnds
	modernBERTEnds
)

// Patterns without a scanner.
const (
	commonCJK   = `[一-龥぀-ゟ゠-ヿ]+`
	bloomSource = ` ?[^(\s|.,!?…。，、।۔،)]+`
	seedSource  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+`
	bailSource  = `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`
	cpmSource   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	turkSource  = `[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	seekLetters = `\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+`
	seekCJK     = `[一-龥ࠀ-一가-퟿]+`
)

// ggufDefault is for files that name no pre-tokenizer, or "default".
var ggufDefault = ggufPre{cuts: []string{`[\p{P}\$\+<=>\^~\|]+`, gpt2Source, `\p{N}+`, `[0-9][0-9][0-9]`}}

// ggufPres are the pre-tokenizers by name. Some names of llama.cpp are missing on purpose: no model
// here has the architecture, or llama.cpp and Hugging Face's tokenizers read the name differently.
var ggufPres = func() map[string]ggufPre {
	list := map[string]ggufPre{"default": ggufDefault}
	for _, family := range []struct {
		names string
		pre   ggufPre
	}{
		{"gpt-2 phi-2 gigachat a.x-4.0 mellum exaone4 mpt trillion granite-docling jais", ggufPre{cuts: []string{gpt2Source}}},
		{"olmo", ggufPre{cuts: []string{gpt2Source}, nfc: true}},
		{"jina-v1-en jina-v2-code jina-v2-de jina-v2-es jina-de jina-es roberta-bpe", ggufPre{cuts: []string{gpt2Source}, ends: robertaEnds}},
		{"modern-bert", ggufPre{cuts: []string{gpt2Source}, nfc: true, ends: modernBERTEnds}},
		{"smollm starcoder refact codeshell minerva-7b mellum2 exaone", ggufPre{digits: true, cuts: []string{gpt2Source}}},
		{"command-r", ggufPre{digits: true, cuts: []string{gpt2Source}, nfc: true}},
		{"llama-bpe llama3 llama-v3 falcon3 falcon-h1 midm-2.0 lfm2 jina-v5-nano", ggufPre{cuts: []string{cl100kSource}, ignoreMerges: true, begins: true}},
		{"dbrx smaug-bpe chatglm-bpe", ggufPre{cuts: []string{cl100kSource}}},
		{"glm4 glm5", ggufPre{cuts: []string{cl100kSource}, ignoreMerges: true}},
		{"qwen2 deepseek-r1-qwen f2llmv2", ggufPre{cuts: []string{qwen2Source}, nfc: true}},
		{"qwen35", ggufPre{cuts: []string{marksSource}, nfc: true}},
		{"stablelm2 hunyuan solar-open grok-2 megrez kormo", ggufPre{cuts: []string{qwen2Source}}},
		{"gpt-4o llama4 kanana2 minimax-m2 talkie", ggufPre{cuts: []string{o200kSource}}},
		{"tekken", ggufPre{cuts: []string{tekkenSource}, ignoreMerges: true, begins: true}},
		{"deepseek-llm", ggufPre{cuts: []string{`[\r\n]`, seekLetters, `\s?[!-/:-~！-／：-～‘-‟　-。]+`, `\s+$`, seekCJK, `\p{N}+`}}},
		{"deepseek-coder", ggufPre{cuts: []string{`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, seekCJK, `\p{N}`}}},
		{"deepseek-v3 hunyuan-dense joyai-llm hy_v4", ggufPre{cuts: []string{`\p{N}{1,3}`, commonCJK, deepseekSource}}},
		{"poro-chat bloom gpt3-finnish", ggufPre{cuts: []string{bloomSource}}},
		{"viking", ggufPre{cuts: []string{bloomSource, `\p{N}`}}},
		{"seed-coder", ggufPre{cuts: []string{seedSource}}},
		{"bailingmoe bailingmoe2 llada-moe", ggufPre{cuts: []string{bailSource}}},
		{"minicpm5", ggufPre{cuts: []string{`\p{N}{1,3}`, cpmSource}, ignoreMerges: true}},
		{"ufakzeka", ggufPre{cuts: []string{turkSource}}},
	} {
		for name := range strings.FieldsSeq(family.names) {
			list[name] = family.pre
		}
	}
	return list
}()
