package tokenizer

// The rules of transformers' classes that build a tokenizer from the vocabulary of tokenizer.json.

import (
	"fmt"
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// rules maps each class to the function that sets its parts.
var rules = map[string]func(*building){
	"BertTokenizer":               func(b *building) { b.wordPiece(); b.ends = clsSep },
	"DistilBertTokenizer":         func(b *building) { b.wordPiece(); b.ends = clsSep },
	"ConvBertTokenizer":           func(b *building) { b.wordPiece(); b.ends = clsSep },
	"DPRContextEncoderTokenizer":  (*building).dpr,
	"DPRQuestionEncoderTokenizer": (*building).dpr,
	"DPRReaderTokenizer":          (*building).dpr,
	"LayoutLMv2Tokenizer":         func(b *building) { b.wordPiece(); b.ends = clsSep },
	"MPNetTokenizer": func(b *building) {
		b.wordPiece()
		b.spaceBeforeMask()
		b.ends = &ends{roberta: true, trim: true}
	},
	"FunnelTokenizer": func(b *building) {
		b.wordPiece()
		b.ends = &ends{single: "cls:2 A:0 sep:0", pair: "cls:2 A:0 sep:0 B:1 sep:1"}
	},

	"GPT2Tokenizer": func(b *building) { b.byteLevels(b.flag("add_prefix_space")) },
	"CodeGenTokenizer": func(b *building) {
		b.byteLevels(b.flag("add_prefix_space"))
	},
	"WhisperTokenizer":    (*building).whisper,
	"BlenderbotTokenizer": func(b *building) { b.byteLevels(b.flag("add_prefix_space")); b.spaceBeforeMask() },
	"GPTNeoXTokenizer":    (*building).gptNeoX,
	"RobertaTokenizer": func(b *building) {
		space := b.flag("add_prefix_space")
		b.byteLevels(space)
		b.ends = &ends{roberta: true, trim: b.flag("trim_offsets"), space: space}
	},
	"LayoutLMv3Tokenizer": func(b *building) {
		space := b.flag("add_prefix_space")
		b.byteLevels(space)
		b.ends = &ends{roberta: true, trim: true, space: space}
	},
	"DebertaTokenizer": func(b *building) {
		b.byteLevels(b.flag("add_prefix_space"))
		b.ends = &ends{single: "cls:0 A:0 sep:0", pair: "cls:0 A:0 sep:0 sep:0 B:0 sep:0"}
	},
	"Qwen2Tokenizer":   func(b *building) { b.qwen(qwen2Source); b.again = twicePlain },
	"Qwen3_5Tokenizer": func(b *building) { b.qwen(qwen35Source) },
	"CLIPTokenizer":    (*building).clip,
	"CohereTokenizer":  (*building).cohere,
	"HerbertTokenizer": (*building).herbert,
	"OpenAIGPTTokenizer": func(b *building) {
		b.bpe(`"end_of_word_suffix":"</w>","fuse_unk":false,"unk_token":` + b.quoted("unk"))
		b.normalizer, b.pre, b.decoder = bertNormal("true", "true", "null", "true"), typeOnly("BertPreTokenizer"), `{"type":"BPEDecoder","suffix":"</w>"}`
	},

	"LlamaTokenizer":     (*building).llama,
	"CodeLlamaTokenizer": (*building).codeLlama,
	"GemmaTokenizer":     (*building).gemma,
	"Siglip2Tokenizer": func(b *building) {
		b.gemma()
		b.normalizer = inOrder("normalizers", typeOnly("Lowercase"), b.normalizer)
	},
	"Tipsv2Tokenizer":   (*building).tips,
	"ReformerTokenizer": (*building).reformer,

	"T5Tokenizer":         func(b *building) { b.t5(2); b.ends = endOfT5 },
	"LasrTokenizer":       func(b *building) { b.t5(3); b.ends = endOfT5 },
	"VideoPrismTokenizer": func(b *building) { b.t5(2) },
	"UdopTokenizer": func(b *building) {
		b.unigram(b.unknown(2, false))
		b.words("always")
		b.ends = endOfT5
	},
	"XLMRobertaTokenizer": func(b *building) {
		b.unigram(3)
		b.normalizer = b.charmap
		b.words(b.scheme())
		b.ends = likeRoberta
	},
	"CamembertTokenizer": (*building).camembert,
	"BarthezTokenizer": func(b *building) {
		b.spaceBeforeMask()
		b.unigram(3)
		b.normalizer = inOrder("normalizers", oneSpaceRules...)
		b.metaspace(b.scheme())
	},
	"XLNetTokenizer":     (*building).xlnet,
	"AlbertTokenizer":    (*building).albert,
	"FNetTokenizer":      (*building).albert,
	"RemBertTokenizer":   (*building).remBert,
	"BigBirdTokenizer":   (*building).bigBird,
	"DebertaV2Tokenizer": (*building).debertaV2,
	"PegasusTokenizer":   (*building).pegasus,
	"MBartTokenizer":     (*building).mbart,
	"MBart50Tokenizer":   (*building).mbart50,
	"NllbTokenizer":      (*building).nllb,
	"XGLMTokenizer":      (*building).xglm,
	"LayoutXLMTokenizer": func(b *building) {
		b.spaceBeforeMask()
		b.unigram(3)
		b.normalizer = inOrder("normalizers", `{"type":"Strip","strip_left":false,"strip_right":true}`, replaced(`{"Regex":" {2,}"}`, "▁"))
		b.metaspace(b.scheme())
		b.ends = &ends{single: "cls:0 A:0 sep:0", pair: "cls:0 A:0 sep:0 sep:0 B:0 sep:0"}
	},
}

var (
	clsSep      = &ends{single: "cls:0 A:0 sep:0", pair: "cls:0 A:0 sep:0 B:1 sep:1"}
	endOfT5     = &ends{single: "A:0 </s>:0", pair: "A:0 </s>:0 B:0 </s>:0"}
	likeRoberta = &ends{single: "bos:0 A:0 eos:0", pair: "bos:0 A:0 eos:0 eos:0 B:0 eos:0"}

	oneSpaceRules = []string{replaced(`{"Regex":"\\s{2,}|[\\n\\r\\t]"}`, " "), typeOnly("NFC"), `{"type":"Strip","strip_left":false,"strip_right":true}`}
	quoteRules    = []string{replaced("{\"String\":\"``\"}", `\"`), replaced(`{"String":"''"}`, `\"`)}
	manySpaces    = replaced(`{"Regex":" {2,}"}`, " ")
)

const (
	byteLevelDecoding = `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}`
	clipPattern       = `"<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"`
)

// Parts of tokenizer.json.

func bertNormal(clean, chinese, strip, lower string) string {
	return fmt.Sprintf(`{"type":"BertNormalizer","clean_text":%s,"handle_chinese_chars":%s,"strip_accents":%s,"lowercase":%s}`, clean, chinese, strip, lower)
}

func byteLevelPre(space, regex bool) string {
	return fmt.Sprintf(`{"type":"ByteLevel","add_prefix_space":%t,"trim_offsets":true,"use_regex":%t}`, space, regex)
}

func metaspacePart(scheme string, split bool) string {
	return fmt.Sprintf(`{"type":"Metaspace","replacement":"▁","prepend_scheme":%q,"split":%t}`, scheme, split)
}

func (b *building) bpe(options string) { b.kind, b.options = "BPE", options }

func (b *building) unigram(unknown int) {
	b.kind, b.options = "Unigram", fmt.Sprintf(`"unk_id":%d,"byte_fallback":false`, unknown)
}

// wordPiece sets the parts of BERT's tokenizer, except its ends.
func (b *building) wordPiece() {
	b.kind = "WordPiece"
	b.options = `"continuing_subword_prefix":"##","max_input_chars_per_word":100,"unk_token":` + b.quoted("unk")
	strip := "null"
	if v, ok := b.fields.take("strip_accents"); ok {
		strip = string(v)
	}
	clean, prefix := true, "##"
	if b.class == "FunnelTokenizer" {
		clean, prefix = b.flag("clean_text"), b.fields.text("wordpieces_prefix", prefix)
	}
	b.normalizer = bertNormal(fmt.Sprint(clean), fmt.Sprint(b.flag("tokenize_chinese_chars")), strip, fmt.Sprint(b.flag("do_lower_case")))
	b.pre, b.decoder = typeOnly("BertPreTokenizer"), fmt.Sprintf(`{"type":"WordPiece","prefix":%q,"cleanup":true}`, prefix)
}

// dpr is BERT's tokenizer in lower case: the class does not pass its do_lower_case on.
func (b *building) dpr() {
	b.fields.fields["do_lower_case"] = value("true")
	b.wordPiece()
	b.ends = clsSep
}

// byteLevels sets the parts of GPT-2's tokenizer.
func (b *building) byteLevels(space bool) {
	b.bpe(`"continuing_subword_prefix":"","end_of_word_suffix":"","fuse_unk":false`)
	b.pre, b.decoder = byteLevelPre(space, true), byteLevelDecoding
}

func (b *building) gptNeoX() {
	b.byteLevels(b.flag("add_prefix_space"))
	b.normalizer = typeOnly("NFC")
	b.ends = &ends{single: "A:0", pair: "A:0 B:1"}
}

// whisper puts the tokens that begin a transcript in front.
func (b *building) whisper() {
	b.byteLevels(b.flag("add_prefix_space"))
	front := "<|startoftranscript|>:0"
	switch task := b.fields.text("task", ""); task {
	case "":
	case "translate", "transcribe":
		front += " <|" + task + "|>:0"
	default:
		b.fields.fail(fault.ErrConfig, "task", "want translate or transcribe")
	}
	if language := b.fields.text("language", ""); language != "" {
		b.fields.fail(fault.ErrConfig, "language", "not supported beside tokenizer.json")
	}
	if !b.truth("predict_timestamps") {
		front += " <|notimestamps|>:0"
	}
	b.ends = &ends{single: front + " A:0 eos:0", pair: front + " A:0 B:1 eos:1"}
}

func (b *building) qwen(pattern string) {
	b.byteLevels(false)
	b.normalizer = typeOnly("NFC")
	b.pre = inOrder("pretokenizers", fmt.Sprintf(`{"type":"Split","pattern":{"Regex":%s},"behavior":"Isolated","invert":false}`, quoteJSON(pattern)),
		byteLevelPre(b.truth("add_prefix_space"), false))
}

func (b *building) clip() {
	b.bpe(`"continuing_subword_prefix":"","end_of_word_suffix":"</w>","fuse_unk":false,"unk_token":` + b.quoted("unk"))
	b.normalizer = inOrder("normalizers", typeOnly("NFC"), replaced(`{"Regex":"\\s+"}`, " "), typeOnly("Lowercase"))
	b.pre = inOrder("pretokenizers", `{"type":"Split","pattern":{"Regex":`+clipPattern+`},"behavior":"Removed","invert":true}`, byteLevelPre(false, true))
	b.decoder = byteLevelDecoding
	b.ends = &ends{roberta: true}
	b.special["cls_token"], b.special["sep_token"] = b.special["bos_token"], b.special["eos_token"]
}

func (b *building) cohere() {
	space := b.flag("add_prefix_space")
	b.byteLevels(space)
	b.normalizer = typeOnly("NFC")
	b.pre = inOrder("pretokenizers", `{"type":"Digits","individual_digits":true}`, byteLevelPre(space, true))
	b.again = twice
}

func (b *building) herbert() {
	b.bpe(`"end_of_word_suffix":"</w>","unk_token":` + b.quoted("unk"))
	b.normalizer, b.pre, b.decoder = bertNormal("true", "true", "false", "false"), typeOnly("BertPreTokenizer"), `{"type":"BPEDecoder","suffix":"</w>"}`
	b.ends = &ends{single: clsSep.single, pair: clsSep.pair, fixed: map[string]int{"cls": 0, "sep": 2}}
}

// llamaDecoding returns the decoder that joins pieces and bytes. If front is set, it removes the
// space in front.
func llamaDecoding(front bool) string {
	list := []string{replaced(`{"String":"▁"}`, " "), typeOnly("ByteFallback"), typeOnly("Fuse")}
	if front {
		list = append(list, `{"type":"Strip","content":" ","start":1,"stop":0}`)
	}
	return inOrder("decoders", list...)
}

func (b *building) llama() {
	b.bpe(`"fuse_unk":true,"byte_fallback":true`)
	v, given := b.fields.fields["add_prefix_space"]
	front, legacy := !given || v.isNull() || b.truth("add_prefix_space"), b.truth("legacy")
	scheme := "never"
	switch {
	case front && legacy:
		scheme = "always"
	case front:
		scheme = "first"
	}
	b.pre, b.decoder = metaspacePart(scheme, false), llamaDecoding(front)
}

func (b *building) codeLlama() {
	b.bpe(`"fuse_unk":true,"byte_fallback":true,"unk_token":` + b.quoted("unk"))
	v, given := b.fields.fields["add_prefix_space"]
	scheme := "never"
	if !given || v.isNull() || b.truth("add_prefix_space") {
		scheme = "first"
	}
	b.pre, b.decoder = metaspacePart(scheme, false), llamaDecoding(true)
	var infilling []namedToken
	b.own = slices.Clone(b.additional)
	for _, x := range [][2]string{{"prefix_token", "▁<PRE>"}, {"middle_token", "▁<MID>"}, {"suffix_token", "▁<SUF>"},
		{"eot_token", "▁<EOT>"}, {"fill_token", "<FILL_ME>"}} {
		role, t := x[0], AddedToken{Content: x[1], Special: true}
		i := slices.IndexFunc(b.named, func(t namedToken) bool { return t.role == role })
		if v, given := b.fields.fields[role]; i < 0 && given && v.isNull() {
			continue
		}
		b.own = append(b.own, t)
		if i >= 0 {
			t = b.named[i].AddedToken
			b.named = slices.Delete(b.named, i, i+1)
		}
		infilling = append(infilling, namedToken{role, t, true})
	}
	b.named = append(infilling, b.named...)
	b.ends = &ends{single: "A:0", pair: "A:0 B:1"}
	if b.text("bos") != "" {
		b.ends = &ends{single: "bos:0 A:0", pair: "bos:0 A:0 bos:1 B:1"}
	}
}

func (b *building) gemma() {
	b.bpe(`"fuse_unk":true,"byte_fallback":true,"unk_token":` + b.quoted("unk"))
	b.normalizer, b.decoder = replaced(`{"String":" "}`, "▁"), llamaDecoding(false)
	b.pre = `{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious","invert":false}`
}

func (b *building) tips() {
	b.bpe(`"fuse_unk":true,"byte_fallback":true`)
	var list []string
	if b.truth("do_lower_case") {
		list = append(list, typeOnly("Lowercase"))
	}
	if b.charmap != "" {
		list = append(list, b.charmap)
	}
	b.normalizer = inOrder("normalizers", list...)
	b.words("always")
	b.decoder = inOrder("decoders", metaspacePart("always", true), typeOnly("ByteFallback"), typeOnly("Fuse"))
}

// metaspace replaces spaces with ▁ and cuts before each of them.
func (b *building) metaspace(scheme string) {
	b.pre, b.decoder = metaspacePart(scheme, true), metaspacePart(scheme, true)
}

// words is metaspace after white space was dropped.
func (b *building) words(scheme string) {
	b.metaspace(scheme)
	b.pre = inOrder("pretokenizers", typeOnly("WhitespaceSplit"), b.pre)
}

// scheme returns where add_prefix_space puts ▁.
func (b *building) scheme() string {
	if b.truth("add_prefix_space") {
		return "always"
	}
	return "never"
}

// spaceBeforeMask makes a mask_token that is given as a string take the white space before it.
func (b *building) spaceBeforeMask() {
	if a, ok := b.special["mask_token"]; ok && b.bare["mask_token"] {
		a.LStrip = true
		b.special["mask_token"] = a
	}
}

// unknown returns the index of unk_token among the pieces, or otherwise if it is not there. If zero
// is set, its score must be 0.
func (b *building) unknown(otherwise int, zero bool) int {
	found, at := -1, 0
	b.eachPiece(func(text string, score float64) {
		if found < 0 && text == b.text("unk") && (!zero || score == 0) {
			found = at
		}
		at++
	})
	if found < 0 {
		return otherwise
	}
	return found
}

// eachPiece calls f with each piece of a vocabulary that is a list. An element that is not a piece
// has the text "".
func (b *building) eachPiece(f func(text string, score float64)) {
	b.readsPieces = true
	vocab := b.model.fields["vocab"]
	if len(vocab) == 0 || vocab[0] != '[' {
		return
	}
	vocab.each(func(_, v value) error {
		var parts []value
		if len(v) > 0 && v[0] == '[' {
			v.each(func(_, x value) error { parts = append(parts, x); return nil })
		}
		if len(parts) != 2 {
			f("", 0)
			return nil
		}
		text, _ := parts[0].text()
		score, _ := parts[1].float()
		f(text, score)
		return nil
	})
}

// missingFrom returns the tokens that are not in the list.
func missingFrom(list, tokens []AddedToken) []AddedToken {
	return slices.DeleteFunc(slices.Clone(tokens), func(t AddedToken) bool { return contains(list, t.Content) })
}
