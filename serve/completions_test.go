package serve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// completed is an answer of /v1/completions.
type completed struct {
	Choices []struct {
		Text   string
		Finish string `json:"finish_reason"`
	}
	Usage struct {
		Completion int `json:"completion_tokens"`
	}
}

// TestCompletionEnds: vLLM's fields for the end of a text do what text.GenerateOptions does, for
// completions and chats.
func TestCompletionEnds(t *testing.T) {
	g := generator(t)
	h := started(t, Options{TokenIDs: true}, "generate")
	plain := posted[completed](t, h.URL+"/v1/completions", object{"model": "generate", "prompt": "hello", "max_tokens": 16}).Choices[0].Text
	ids := make([]int, 0, 16)
	for piece, err := range g.Generate(t.Context(), "hello", text.GenerateOptions{MaxTokens: 16}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range piece.Tokens {
			ids = append(ids, c.Token)
		}
	}
	e, err := g.Tokenizer().Encode("hello", tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop := ids[6]
	first := slices.Index(ids, stop)
	word := plain[4:7]
	before, _, _ := strings.Cut(plain, word)
	eos := g.Tokenizer().Config().Special["eos_token"]
	eosID, _ := g.Tokenizer().TokenID(eos)
	for _, c := range []struct {
		name   string
		fields object
		text   string // "": any
		tokens int    // 0: any
		finish string
	}{
		{"stop_token_ids", object{"stop_token_ids": []int{stop}}, "", first, "stop"},
		{"min_tokens", object{"stop_token_ids": []int{stop}, "min_tokens": 12, "max_tokens": 12}, "", 12, "length"},
		{"EOS", object{"logit_bias": object{fmt.Sprint(eosID): 100}, "temperature": 0}, "", 0, "stop"},
		{"ignore_eos", object{"logit_bias": object{fmt.Sprint(eosID): 100}, "temperature": 0, "ignore_eos": true}, "", 16, "length"},
		{"stop", object{"stop": word}, before, 0, "stop"},
		{"include_stop_str_in_output", object{"stop": word, "include_stop_str_in_output": true}, before + word, 0, "stop"},
		{"echo", object{"echo": true}, "hello" + plain, 16, "length"},
		{"token ids", object{"prompt": e.IDs}, plain, 16, "length"},
		{"echo of token ids", object{"prompt": [][]int{e.IDs}, "echo": true}, "hello" + plain, 16, "length"},
		{"no bad words", object{"bad_words": []string{"zzzz"}}, plain, 16, "length"},
	} {
		fields := object{"model": "generate", "prompt": "hello", "max_tokens": 16}
		for name, v := range c.fields {
			fields[name] = v
		}
		got := posted[completed](t, h.URL+"/v1/completions", fields)
		if one := got.Choices[0]; c.text != "" && one.Text != c.text || c.tokens > 0 && got.Usage.Completion != c.tokens || one.Finish != c.finish {
			t.Errorf("%s: %q, %d tokens, %s; want %q, %d, %s", c.name, one.Text, got.Usage.Completion, one.Finish, c.text, c.tokens, c.finish)
		}
	}
	bad := g.Tokenizer().Decode(ids[2:3], false)
	if got := posted[completed](t, h.URL+"/v1/completions", object{"model": "generate", "prompt": "hello", "max_tokens": 16, "bad_words": []string{bad}}).Choices[0].Text; got == plain {
		t.Errorf("bad_words %q changed nothing: %q", bad, got)
	}
	stream := object{"model": "generate", "prompt": "hello", "max_tokens": 4, "echo": true, "stream": true}
	_, answer, _ := ask(t, "POST", h.URL+"/v1/completions", encoded(t, stream))
	if !strings.Contains(answer[:300], `"text":"hello`) || strings.Count(answer, "hello") != 1 {
		t.Errorf("a stream with echo: %s", answer)
	}
	for field, body := range map[string]string{
		"min_tokens": `"min_tokens":9,"max_tokens":4`, "stop_token_ids": `"stop_token_ids":[-1]`, "bad_words": `"bad_words":[""]`, "echo": `"echo":true,"logprobs":1`,
		"ignore_eos": `"ignore_eos":true,"response_format":{"type":"json_object"}`, "prompt_logprobs": `"prompt_logprobs":1`, "best_of": `"best_of":3`,
		"truncate_prompt_tokens": `"truncate_prompt_tokens":4`, "allowed_token_ids": `"allowed_token_ids":[3]`,
	} {
		status, answer, _ := ask(t, "POST", h.URL+"/v1/completions", `{"model":"generate","prompt":"a",`+body+`}`)
		if status != 400 || !strings.Contains(answer, `"param":"`+field+`"`) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
}
