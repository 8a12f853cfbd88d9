package tokenizer

// Vocabularies of testdata, written as the other files that can hold them.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// contents are what a tokenizer.json or a SentencePiece model has.
type contents struct {
	tokens   []string
	scores   []float32
	types    []int32 // as in SentencePiece models and GGUF files
	merges   []string
	charsmap []byte
	added    map[string]map[string]any // by id, as tokenizer_config.json has them
}

func readContents(t *testing.T, dir string) (c contents) {
	t.Helper()
	if models, _ := filepath.Glob(filepath.Join(dir, "*.model")); len(models) == 1 {
		m := must(parseSPM(must(os.ReadFile(models[0]))))
		for _, p := range m.pieces {
			c.tokens, c.scores, c.types = append(c.tokens, p.text), append(c.scores, float32(p.score)), append(c.types, int32(p.kind))
		}
		return c
	}
	var file struct {
		Model struct {
			Vocab  json.RawMessage
			Merges []json.RawMessage // "a b" or ["a", "b"]
		}
		Normalizer struct {
			Normalizers []struct {
				Charsmap []byte `json:"precompiled_charsmap"`
			}
			Charsmap []byte `json:"precompiled_charsmap"`
		}
		Added []map[string]any `json:"added_tokens"`
	}
	mustDecode(t, must(os.ReadFile(filepath.Join(dir, "tokenizer.json"))), &file)
	ids := map[string]int{}
	if file.Model.Vocab[0] == '[' {
		var pieces [][2]any
		mustDecode(t, file.Model.Vocab, &pieces)
		for id, p := range pieces {
			ids[p[0].(string)] = id
			c.scores = append(c.scores, float32(p[1].(float64)))
		}
	} else {
		mustDecode(t, file.Model.Vocab, &ids)
	}
	c.added = map[string]map[string]any{}
	for _, a := range file.Added {
		ids[a["content"].(string)] = int(a["id"].(float64))
		c.added[fmt.Sprint(a["id"])] = a
	}
	c.tokens, c.types = make([]string, len(ids)), slices.Repeat([]int32{pieceNormal}, len(ids))
	for _, m := range file.Model.Merges {
		c.merges = append(c.merges, strings.ReplaceAll(strings.Trim(string(m), `[]"`), `", "`, " "))
	}
	for token, id := range ids {
		if c.tokens[id] = token; c.added[fmt.Sprint(id)] != nil {
			c.types[id] = pieceControl
		}
	}
	c.charsmap = file.Normalizer.Charsmap
	for _, n := range file.Normalizer.Normalizers {
		c.charsmap = append(c.charsmap, n.Charsmap...)
	}
	return c
}

func mustDecode(t *testing.T, data []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatal(err)
	}
}

// fileSet is the content of files by their names.
type fileSet map[string][]byte

// config is tokenizer_config.json.
func (c contents) config(class string) []byte {
	return must(json.Marshal(map[string]any{"tokenizer_class": class, "do_lower_case": class == "MPNetTokenizer", "added_tokens_decoder": c.added}))
}

func (c contents) vocab() []byte {
	ids := map[string]int{}
	for id, token := range c.tokens {
		ids[token] = id
	}
	return must(json.Marshal(ids))
}

func merged(class, end string) func(contents) fileSet {
	return func(c contents) fileSet {
		return fileSet{"vocab.json": c.vocab(), "merges.txt": []byte("#version: 0.2" + end + strings.Join(c.merges, end) + end), "tokenizer_config.json": c.config(class)}
	}
}

func listed(class, end string) func(contents) fileSet {
	return func(c contents) fileSet {
		return fileSet{"vocab.txt": []byte(strings.Join(c.tokens, end) + end), "tokenizer_config.json": c.config(class)}
	}
}

// marian has the pieces in another order than the ids.
func marian(c contents) fileSet {
	message := func(number uint64, data []byte) []byte {
		return append(binary.AppendUvarint(binary.AppendUvarint(nil, number<<3|2), uint64(len(data))), data...)
	}
	var spm []byte
	for id := len(c.scores) - 1; id >= 0; id-- {
		piece := append(message(1, []byte(c.tokens[id])), 2<<3|5)
		piece = binary.LittleEndian.AppendUint32(piece, math.Float32bits(c.scores[id]))
		spm = append(spm, message(1, append(piece, 3<<3, byte(c.types[id])))...)
	}
	spm = append(spm, message(2, []byte{3 << 3, spmUnigram})...)
	spm = append(spm, message(3, message(2, c.charsmap))...)
	return fileSet{"source.spm": spm, "vocab.json": c.vocab(), "tokenizer_config.json": c.config("MarianTokenizer")}
}

// inGGUF returns a file of the named model and pattern; settings are its keys that are true or
// false.
func inGGUF(model, pre string, settings map[string]bool) func(contents) fileSet {
	return inGGUFWith(nil, model, pre, settings)
}

// inGGUFWith is inGGUF with tokens of other roles.
func inGGUFWith(more map[string][]string, model, pre string, settings map[string]bool) func(contents) fileSet {
	return func(c contents) fileSet {
		var keys bytes.Buffer
		count := uint64(0)
		put := func(xs ...any) {
			for _, x := range xs {
				if s, ok := x.(string); ok {
					put := binary.LittleEndian.AppendUint64(nil, uint64(len(s)))
					x = append(put, s...)
				}
				binary.Write(&keys, binary.LittleEndian, x)
			}
		}
		key := func(name string, kind uint32, value ...any) {
			count++
			put("tokenizer.ggml."+name, kind)
			put(value...)
		}
		texts := func(name string, list []string) {
			key(name, 9, uint32(8), uint64(len(list)))
			for _, s := range list {
				put(s)
			}
		}
		key("model", 8, model)
		key("pre", 8, pre)
		texts("tokens", c.tokens)
		texts("merges", c.merges)
		key("token_type", 9, uint32(5), uint64(len(c.types)), c.types)
		key("scores", 9, uint32(6), uint64(len(c.scores)), c.scores)
		key("precompiled_charsmap", 9, uint32(0), uint64(len(c.charsmap)), c.charsmap)
		roles := map[string][]string{"bos": {"<s>", "<|begin_of_text|>"}, "eos": {"</s>"}, "unknown": {"<unk>", "[UNK]"}, "cls": {"[CLS]"}, "seperator": {"[SEP]"}, "mask": {"<mask>", "[MASK]"}}
		maps.Copy(roles, more)
		for role, tokens := range roles {
			if id := slices.IndexFunc(c.tokens, func(token string) bool { return slices.Contains(tokens, token) }); id >= 0 {
				key(role+"_token_id", 4, uint32(id))
			}
		}
		for name, on := range settings {
			key(name, 7, on)
		}
		head := binary.LittleEndian.AppendUint64(append([]byte("GGUF\x03\x00\x00\x00"), make([]byte, 8)...), count)
		return fileSet{"model.gguf": append(head, keys.Bytes()...)}
	}
}

// bertInGGUF spells the beginnings of words with ▁ and what follows without ##.
func bertInGGUF(c contents) fileSet {
	for id, token := range c.tokens {
		if c.types[id] == pieceNormal {
			c.tokens[id] = strings.TrimPrefix("▁"+token, "▁##")
		}
	}
	return inGGUF("bert", "", nil)(c)
}

// modernInGGUF has other names for what begins and ends a text, as ModernBERT's config.json has.
func modernInGGUF(c contents) fileSet {
	for id, a := range c.added {
		if a["special"] == false {
			c.types[must(strconv.Atoi(id))] = pieceUserDefined
		}
	}
	roles := map[string][]string{"bos": {"[CLS]"}, "eos": {"[SEP]"}}
	return inGGUFWith(roles, "gpt2", "modern-bert", map[string]bool{"add_bos_token": true, "add_eos_token": true, "add_sep_token": true})(c)
}

// TestWritten compares with the ids of the folders that the vocabularies come from: as files say,
// and with ready files of GGUF files.
func TestWritten(t *testing.T) {
	type on = map[string]bool
	for name, c := range map[string]struct {
		folder string
		write  func(contents) fileSet
		but    []string // texts with one of these mean something else in a GGUF file
	}{
		"merges of GPT-2":        {"gpt2", merged("GPT2Tokenizer", "\n"), nil},
		"merges on Windows":      {"gpt2", merged("GPT2Tokenizer", "\r\n"), nil},
		"merges of BART":         {"bart", merged("BartTokenizer", "\n"), nil},
		"merges of Qwen 2":       {"qwen2", merged("Qwen2Tokenizer", "\n"), nil},
		"vocab.txt of BERT":      {"bert-classify", listed("BertTokenizer", "\n"), nil},
		"vocab.txt on Windows":   {"bert-classify", listed("BertTokenizer", "\r\n"), nil},
		"vocab.txt of MPNet":     {"mpnet", listed("MPNetTokenizer", "\n"), nil},
		"Marian":                 {"marian", marian, nil},
		"GGUF of GPT-2":          {"gpt2", inGGUF("gpt2", "gpt-2", nil), nil},
		"GGUF of Qwen 2":         {"qwen2", inGGUF("gpt2", "qwen2", nil), nil},
		"GGUF of Llama 3":        {"llama-rope3-new", inGGUF("gpt2", "llama-bpe", nil), nil},
		"GGUF of BERT":           {"bert", bertInGGUF, nil},
		"GGUF of ModernBERT":     {"modernbert", modernInGGUF, nil},
		"GGUF of RoBERTa":        {"roberta", inGGUF("gpt2", "jina-v2-de", on{"add_bos_token": true, "add_eos_token": true}), nil},
		"GGUF of XLM-RoBERTa":    {"xlm-roberta", inGGUF("t5", "default", on{"remove_extra_whitespaces": true, "add_bos_token": true, "add_eos_token": true}), nil},
		"GGUF of T5":             {"t5", inGGUF("t5", "", on{"remove_extra_whitespaces": true}), nil},
		"GGUF of Llama's pieces": {"pieces/LlamaTokenizer-bpe", inGGUF("llama", "", on{"add_bos_token": false}), []string{"  two", "<s>"}},
		"GGUF of Code Llama's":   {"pieces/CodeLlamaTokenizer-bpe", inGGUF("llama", "", on{"add_eos_token": true}), []string{"  two", "<s>"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("testdata", c.folder)
			files := fstest.MapFS{}
			for name, data := range c.write(readContents(t, dir)) {
				files[name] = &fstest.MapFile{Data: data}
			}
			var all cases
			mustDecode(t, must(os.ReadFile(filepath.Join(dir, "tokenizer_cases.json"))), &all)
			ready := t.TempDir()
			for round, o := range []Opening{{}, {Ready: ready}, {Ready: ready}, {Ready: ready, ReadyCopy: true}} {
				tok, err := o.OpenFS(files)
				if err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
				for _, x := range append(all.Cases, all.Pairs...) {
					if !slices.ContainsFunc(c.but, func(s string) bool { return strings.Contains(x.Text, s) }) {
						x.check(t, tok)
					}
				}
			}
			if made := len(readyFiles(t, ready)); (made == 1) != (files["model.gguf"] != nil) {
				t.Errorf("%d ready files", made)
			}
		})
	}
}

// TestPieceOrder merges first what makes the piece of the higher score.
func TestPieceOrder(t *testing.T) {
	for scores, want := range map[[2]float32]string{{-1, -2}: "ab c", {-2, -1}: "a bc", {-1, -1}: "ab c"} {
		c := contents{tokens: []string{"<unk>", "a", "b", "c", "ab", "bc"}, types: []int32{pieceUnknown, 1, 1, 1, 1, 1}, scores: []float32{0, -3, -3, -3, scores[0], scores[1]}}
		files := inGGUF("llama", "", map[string]bool{"add_space_prefix": false})(c)
		tok, err := OpenFS(fstest.MapFS{"model.gguf": {Data: files["model.gguf"]}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := tok.Encode("abc", Options{Tokens: true})
		if got := strings.Join(e.Tokens, " "); err != nil || got != want {
			t.Errorf("scores of ab and bc %v: %q, %v, want %q", scores, got, err, want)
		}
	}
}

// TestRolesOfClasses opens folders that leave the special tokens to the class.
func TestRolesOfClasses(t *testing.T) {
	for class, want := range map[string]map[string]string{
		"BartTokenizer":  {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "mask_token": "<mask>"},
		"GPT2Tokenizer":  {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"},
		"Qwen2Tokenizer": {"eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>", "pad_token": "<|endoftext|>"},
		"MPNetTokenizer": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "[UNK]", "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "mask_token": "<mask>"},
		"BertTokenizer":  {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]"},
	} {
		c := contents{tokens: []string{"a"}}
		for _, token := range want {
			if !slices.Contains(c.tokens, token) {
				c.tokens = append(c.tokens, token)
			}
		}
		write := merged
		if want["unk_token"] == "[UNK]" {
			write = listed
		}
		files := fstest.MapFS{}
		for name, data := range write(class, "\n")(c) {
			files[name] = &fstest.MapFile{Data: data}
		}
		tok, err := OpenFS(files)
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Config().Special; !maps.Equal(got, want) {
			t.Errorf("%s: %q, want %q", class, got, want)
		}
	}
}
