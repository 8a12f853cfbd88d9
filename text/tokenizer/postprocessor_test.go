package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestChains: post-processors one after another, with what Hugging Face's tokenizers give.
func TestChains(t *testing.T) {
	const (
		xA   = `{"SpecialToken":{"id":"x","type_id":1}},{"Sequence":{"id":"A","type_id":0}}`
		two  = `{"type":"TemplateProcessing","single":[` + xA + `],"pair":[` + xA + `,{"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"x":{"id":"x","ids":[4,5],"tokens":["x","y"]}}}`
		turn = `{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"B","type_id":1}},{"Sequence":{"id":"A","type_id":0}}],"special_tokens":{}}`
		ends = `"cls":["c",2],"sep":["s",3]`
		bert = `{"type":"BertProcessing",` + ends + `}`
		rob  = `{"type":"RobertaProcessing","trim_offsets":true,"add_prefix_space":false,` + ends + `}`
	)
	for _, c := range []struct {
		chain          []string
		pair           bool
		ids            string
		special, types string
		sequences      string // - for none
	}{
		{[]string{two, bert}, false, "2 4 5 3 0 1 3", "1001001", "0110001", "-00-11-"},
		{[]string{two, bert}, true, "2 4 5 3 0 1 3 1 3", "100100101", "011000111", "-00----1-"},
		{[]string{two, rob}, false, "2 4 5 3 3 0 1 3", "10011001", "00000000", "-00--11-"},
		{[]string{bert, two}, false, "4 5 2 0 1 3", "111001", "110000", "--0000"},
		{[]string{bert, rob}, true, "2 2 0 1 3 3 3 1 3 3", "1000011001", "0000000000", "-0000--11-"},
		{[]string{two, turn}, false, "0 1 4 5", "0011", "1100", "1100"},
		{[]string{rob, turn, bert}, true, "2 3 1 3 3 2 0 1 3 3", "1000100001", "0111000001", "-000-1111-"},
	} {
		tok, err := Parse([]byte(`{"pre_tokenizer":{"type":"WhitespaceSplit"},"post_processor":{"type":"Sequence","processors":[` + strings.Join(c.chain, ",") +
			`]},"model":{"type":"WordLevel","vocab":{"a":0,"b":1,"c":2,"s":3,"x":4,"y":5},"unk_token":"a"}}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, opts := range []Options{{}, {Offsets: Characters, Tokens: true}} {
			e, err := tok.Encode("a b", opts)
			if c.pair {
				e, err = tok.EncodePair("a b", "b", opts)
			}
			if err != nil {
				t.Errorf("%s: %v", c.chain, err)
				continue
			}
			var special, types, sequences strings.Builder
			for i := range e.IDs {
				special.WriteByte("01"[slices.Index([]bool{false, true}, e.Special[i])])
				fmt.Fprint(&types, e.TypeIDs[i])
				sequences.WriteByte("-01"[1+e.Sequence(i)])
			}
			if ids := strings.Trim(fmt.Sprint(e.IDs), "[]"); ids != c.ids || special.String() != c.special || types.String() != c.types || sequences.String() != c.sequences {
				t.Errorf("%s: ids %s, special %s, types %s, texts %s,\nwant %s, %s, %s, %s", c.chain, ids, &special, &types, &sequences, c.ids, c.special, c.types, c.sequences)
			}
		}
	}
	tok, err := Parse([]byte(`{"post_processor":{"type":"Sequence","processors":[` + two + "," + two + `]},"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tok.EncodePair("a", "a", Options{}); err == nil {
		t.Error("a template of three parts")
	}
}
