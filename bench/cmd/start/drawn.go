package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/transformer/gguf"
)

// This file writes models and tokenizers with random numbers and words.

// words are random tokens of letters. Each token after the single letters consists of two earlier
// ones.
type words struct {
	tokens []string
	merges [][2]string
}

// drawWords returns n different tokens. The first ones are the special tokens and letters.
func drawWords(n int, special ...string) words {
	r := rand.New(rand.NewPCG(1, 2))
	var w words
	seen := map[string]bool{}
	add := func(s string) bool {
		if len(s) > 24 || seen[s] {
			return false
		}
		seen[s] = true
		w.tokens = append(w.tokens, s)
		return true
	}
	for _, s := range special {
		add(s)
	}
	for _, b := range bytesSpelled() {
		add(b)
	}
	letters := strings.Split("Ġ e t a o i n s h r d l u c m f w y g p b v k x q j z", " ")
	for len(w.tokens) < n {
		pick := func() string {
			if r.IntN(3) == 0 {
				return letters[r.IntN(len(letters))]
			}
			return w.tokens[len(special)+256+r.IntN(len(w.tokens)-len(special)-255)-1]
		}
		a, b := pick(), pick()
		if strings.HasPrefix(b, "Ġ") {
			continue
		}
		if add(a + b) {
			w.merges = append(w.merges, [2]string{a, b})
		}
	}
	return w
}

// bytesSpelled returns the characters that represent bytes in byte-level vocabularies, as in
// GPT-2's.
func bytesSpelled() (all []string) {
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		if b <= ' ' || b >= 0x7F && b <= 0xA0 || b == 0xAD {
			r, next = next, next+1
		}
		all = append(all, string(r))
	}
	return all
}

// drawTokenizers writes a folder with a tokenizer.json for each model. The folders' names state the
// number of tokens.
func drawTokenizers(dir string) (folders []string, err error) {
	write := func(rest, model string) {
		folder := filepath.Join(dir, fmt.Sprint("tokenizer", len(folders)))
		folders = append(folders, folder)
		text := fmt.Sprintf(`{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"post_processor":null,%s,"model":{%s}}`, rest, model)
		err = errors.Join(err, os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "tokenizer.json"), []byte(text), 0o600))
	}
	ids := func(tokens []string) string {
		return "{" + listed(tokens, func(i int, t string) string { return quoted(t) + ":" + strconv.Itoa(i) }) + "}"
	}
	w := drawWords(262144)
	merges := listed(w.merges, func(_ int, m [2]string) string { return "[" + quoted(m[0]) + "," + quoted(m[1]) + "]" })
	const level = `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}`
	write(`"normalizer":null,"pre_tokenizer":`+level+`,"decoder":`+level, `"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,`+
		`"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":`+ids(w.tokens)+`,"merges":[`+merges+`]`)
	w = drawWords(250000, "<unk>")
	pieces := listed(w.tokens, func(i int, t string) string {
		return "[" + quoted(strings.ReplaceAll(t, "Ġ", "▁")) + "," + strconv.FormatFloat(-math.Log(float64(i+2))-3, 'g', -1, 64) + "]"
	})
	const space = `{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}`
	write(`"normalizer":null,"pre_tokenizer":`+space+`,"decoder":`+space, `"type":"Unigram","unk_id":0,"vocab":[`+pieces+`],"byte_fallback":false`)
	w = drawWords(30522, "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
	for i, t := range w.tokens {
		if rest, ok := strings.CutPrefix(t, "Ġ"); ok && len(rest) > 2 { // the single letters are tokens already
			w.tokens[i] = rest
		} else if i >= 5+256 {
			w.tokens[i] = "##" + t
		}
	}
	write(`"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},`+
		`"decoder":{"type":"WordPiece","prefix":"##","cleanup":true}`, `"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":`+ids(w.tokens))
	return folders, err
}

// tokenizers are the kinds of tokenizers that drawTokenizers writes.
var tokenizers = []string{"BPE, 262,144 entries with merges", "Unigram, 250,000 entries", "WordPiece, 30,522 entries"}

func listed[T any](x []T, show func(int, T) string) string {
	all := make([]string, len(x))
	for i, e := range x {
		all[i] = show(i, e)
	}
	return strings.Join(all, ",")
}

// quoted returns s as a JSON string in which <, > and & are not escaped.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}

// These are the sizes of the Llama of 0.35 B.
const (
	layers, dim, heads, kvHeads, headDim, hidden, vocab = 24, 1024, 16, 8, 64, 2816, 32000
)

// drawLlama writes a GGUF file of a Llama of 0.35 B with matrices in F32 or BF16, and with a
// tokenizer.
func drawLlama(path string, t gguf.Type) error {
	w := drawWords(vocab, "<s>", "</s>")
	types := make([]int32, vocab)
	for i := range types {
		types[i] = 1
	}
	types[0], types[1] = 3, 3
	merges := make([]string, len(w.merges))
	for i, m := range w.merges {
		merges[i] = m[0] + " " + m[1]
	}
	fileType := map[gguf.Type]uint32{gguf.F32: 0, gguf.BF16: 32}[t]
	pairs := []gguf.Pair{
		{Key: "general.architecture", Value: "llama"}, {Key: "general.file_type", Value: fileType}, {Key: "general.quantization_version", Value: uint32(2)},
		{Key: "llama.block_count", Value: uint32(layers)}, {Key: "llama.context_length", Value: uint32(4096)}, {Key: "llama.embedding_length", Value: uint32(dim)},
		{Key: "llama.feed_forward_length", Value: uint32(hidden)}, {Key: "llama.attention.head_count", Value: uint32(heads)},
		{Key: "llama.attention.head_count_kv", Value: uint32(kvHeads)}, {Key: "llama.rope.dimension_count", Value: uint32(headDim)},
		{Key: "llama.rope.freq_base", Value: float32(1e4)}, {Key: "llama.attention.layer_norm_rms_epsilon", Value: float32(1e-6)},
		{Key: "llama.vocab_size", Value: uint32(vocab)},
		{Key: "tokenizer.ggml.model", Value: "gpt2"}, {Key: "tokenizer.ggml.pre", Value: "gpt-2"}, {Key: "tokenizer.ggml.tokens", Value: w.tokens},
		{Key: "tokenizer.ggml.token_type", Value: types}, {Key: "tokenizer.ggml.merges", Value: merges},
		{Key: "tokenizer.ggml.bos_token_id", Value: uint32(0)}, {Key: "tokenizer.ggml.eos_token_id", Value: uint32(1)},
		{Key: "tokenizer.ggml.add_bos_token", Value: true},
	}
	var tensors []gguf.Tensor
	add := func(name string, t gguf.Type, shape ...int) {
		info := gguf.Info{Type: t, Shape: shape}
		seed := uint64(len(tensors))
		tensors = append(tensors, gguf.Tensor{Name: name, Info: info, Data: func(w io.Writer) error { return drawNumbers(w, info, seed) }})
	}
	add("token_embd.weight", t, vocab, dim)
	add("output.weight", t, vocab, dim)
	add("output_norm.weight", gguf.F32, dim)
	for i := range layers {
		b := fmt.Sprintf("blk.%d.", i)
		add(b+"attn_norm.weight", gguf.F32, dim)
		add(b+"ffn_norm.weight", gguf.F32, dim)
		add(b+"attn_q.weight", t, heads*headDim, dim)
		add(b+"attn_k.weight", t, kvHeads*headDim, dim)
		add(b+"attn_v.weight", t, kvHeads*headDim, dim)
		add(b+"attn_output.weight", t, dim, heads*headDim)
		add(b+"ffn_gate.weight", t, hidden, dim)
		add(b+"ffn_up.weight", t, hidden, dim)
		add(b+"ffn_down.weight", t, dim, hidden)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := gguf.Write(f, pairs, tensors); err != nil {
		return err
	}
	return f.Close()
}

// drawNumbers writes the numbers of a tensor: ones for a vector, and for a matrix random numbers of
// about the size of trained weights.
func drawNumbers(w io.Writer, info gguf.Info, seed uint64) error {
	out := bufio.NewWriterSize(w, 1<<20)
	r := rand.New(rand.NewPCG(1, seed))
	var b [4]byte
	for range info.Len() {
		x := float32(1)
		if len(info.Shape) > 1 {
			u := r.Uint64() // the sum of two numbers is closer to a normal distribution
			x = (float32(uint32(u)>>8) + float32(u>>40) - 1<<24) * (0.04 / (1 << 24))
		}
		n := math.Float32bits(x)
		if info.Type == gguf.BF16 {
			binary.LittleEndian.PutUint16(b[:], uint16(n>>16))
			out.Write(b[:2])
			continue
		}
		binary.LittleEndian.PutUint32(b[:], n)
		out.Write(b[:])
	}
	return out.Flush()
}
