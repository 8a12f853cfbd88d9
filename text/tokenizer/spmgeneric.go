package tokenizer

// SentencePiece models without a class of their own, which follow the model's settings.

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/tokenizer/internal/onig"
)

// generic sets all parts as the model says.
func (f *spmFolder) generic() (func() error, error) {
	for i, role := range []string{spmUnknown: "unk_token", spmBOS: "bos_token", spmEOS: "eos_token"} {
		_, known := f.special[role]
		if x := f.specials[i]; x.id >= 0 && !known && !f.bare[role] && x.text != "" {
			f.special[role], f.Special[role] = AddedToken{Content: x.text, Special: true}, x.text
		}
	}
	f.own = slices.DeleteFunc(f.own, func(t AddedToken) bool { return !t.Special }) // the pre-tokenizer cuts out user-defined pieces
	texts, legacy := f.renamed(), true
	if v, given := f.fields.fields["legacy"]; given {
		legacy = !v.isNull() && f.fields.bool("legacy", true)
	}
	if f.dummyPrefix {
		for i := range f.added {
			f.added[i].Normalized = false
		}
	}
	if err := f.asInModel(texts, legacy); err != nil {
		return nil, err
	}
	if f.kind != spmUnigram {
		return f.beginAndEnd(false), f.bpeByScore(texts)
	}
	pieces := f.moved(0)
	for i := range pieces {
		pieces[i].score = copied(pieces[i].score)
	}
	return f.beginAndEnd(false), f.unigramOrBytes(pieces, f.specials[spmUnknown].id, f.byteFallback)
}

// asInModel sets the normalizer, the pre-tokenizer and the decoder as the model's settings say. If
// legacy is set, ▁ is put in front of the text and after each added token, otherwise only in front
// of the text.
func (f *spmFolder) asInModel(texts []string, legacy bool) error {
	list, err := f.precompiled()
	if err != nil {
		return err
	}
	if f.removeSpaces {
		list = append(list, regexReplace(`\A +| +\z`, ""), regexReplace(" {2,}", " "))
	}
	if !f.keepSpaces {
		list = append(list, &replace{literal(" "), string(space)})
	}
	var pre preTokenizers
	decoding := []string{replaced(`{"String":"▁"}`, " ")}
	if f.byteFallback {
		decoding = append(decoding, typeOnly("ByteFallback"))
	}
	where := first
	if f.dummyPrefix {
		if legacy {
			where = always
			list = append(list, regexReplace(`\A▁`, "▁▁"))
		}
		pre = append(pre, metaspace{space, where, false})
		decoding = append(decoding, typeOnly("Fuse"), `{"type":"Strip","content":" ","start":1,"stop":0}`)
	} else if f.byteFallback {
		decoding = append(decoding, typeOnly("Fuse"))
	}
	var whole []string
	for i, p := range f.pieces {
		if p.kind == pieceUserDefined {
			whole = append(whole, regexp.QuoteMeta(texts[i]))
		}
	}
	slices.SortStableFunc(whole, func(a, b string) int { return utf8.RuneCountInString(b) - utf8.RuneCountInString(a) })
	if len(whole) > 0 {
		p, err := onig.Compile(strings.Join(whole, "|"))
		if err != nil {
			return err
		}
		pre = append(pre, &splitAt{pattern: expression{p}, behavior: isolated})
	}
	if f.t.normalizer = list; len(pre) > 0 {
		f.t.pre = pre
	}
	f.t.decoder, err = parseDecoder("decoder", value(inOrder("decoders", decoding...)))
	return err
}

// bpeByScore is BPE that first merges the pair whose result is the normal piece with the best
// score.
func (f *spmFolder) bpeByScore(texts []string) error {
	v, normal, userDefined := newVocabulary(len(texts)), map[string]int{}, false
	for id, text := range texts {
		v.set(text, uint32(id))
		if f.pieces[id].kind == pieceNormal {
			normal[text] = id
		}
		userDefined = userDefined || f.pieces[id].kind == pieceUserDefined
	}
	if v.repeats {
		return fmt.Errorf("%w: a piece occurs twice", fault.ErrConfig)
	}
	var ids []int
	for _, id := range normal {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int) int {
		return cmp.Or(cmp.Compare(f.pieces[b].score, f.pieces[a].score), cmp.Compare(a, b))
	})
	var merges [][2]string
	for _, id := range ids {
		text, from := texts[id], len(merges)
		for i := range text {
			if i > maxPiece {
				break
			}
			_, okA := normal[text[:i]]
			_, okB := normal[text[i:]]
			if i > 0 && okA && okB {
				merges = append(merges, [2]string{text[:i], text[i:]})
			}
		}
		slices.SortFunc(merges[from:], func(a, b [2]string) int { return cmp.Compare(a[0], b[0]) })
	}
	m, err := mergedBPE(v, merges, bpeConfig{unknown: f.specials[spmUnknown].text, fuseUnknown: true, byteFallback: f.byteFallback, ignoreMerges: userDefined})
	f.t.model = m
	return err
}

// renamed returns the texts of the pieces. An added token replaces the piece with its id, unless
// another piece has its name.
func (f *spmFolder) renamed() []string {
	texts := f.texts()
	if f.kind == spmUnigram {
		return texts
	}
	names := map[int]string{}
	for _, a := range f.added {
		names[int(a.ID)] = a.Content
	}
	kept := map[string]bool{}
	for id, text := range texts {
		if _, ok := names[id]; !ok {
			kept[text] = true
		}
	}
	for id := range texts {
		if name, ok := names[id]; ok && !kept[name] {
			texts[id] = name
		}
	}
	return texts
}

// copied returns a score after a round trip through JSON, which transformers does.
func copied(score float64) float64 {
	v, _ := value(strconv.FormatFloat(score, 'g', -1, 64)).float()
	return v
}
