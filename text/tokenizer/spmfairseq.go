package tokenizer

// The classes whose pieces have the ids of fairseq's dictionaries, which begin with <s>,
// <pad>, </s> and <unk>, and those that name languages.

import (
	"fmt"
	"slices"
	"strings"
)

// camembert puts pieces of fairseq before all but the first.
func (f *spmFolder) camembert() (func() error, error) {
	unknown := f.role("unk")
	pieces := f.moved(1, "<s>NOTUSED", f.role("pad"), "</s>NOTUSED", unknown, "<unk>NOTUSED")
	pieces[4].score = -100
	pieces = append(pieces, spmPiece{text: f.role("mask")})
	var err error
	if f.t.normalizer, err = f.precompiled(); err != nil {
		return nil, err
	}
	f.words(f.prefix())
	id := slices.IndexFunc(pieces, func(p spmPiece) bool { return p.text == unknown })
	return f.likeRoberta(), f.onlyUnigram(pieces, id)
}

// fairseq puts four pieces in the place of the first three.
func (f *spmFolder) fairseq(begin string) []spmPiece {
	return f.moved(3, f.role(begin), f.role("pad"), f.role("eos"), f.role("unk"))
}

func (f *spmFolder) xlmRoberta() (func() error, error) {
	pieces := append(f.fairseq("bos"), spmPiece{text: f.role("mask")})
	var err error
	if f.t.normalizer, err = f.precompiled(); err != nil {
		return nil, err
	}
	f.words(f.prefix())
	return f.likeRoberta(), f.unigram(pieces, 3)
}

// mbart puts the language after </s>, and normalizes nothing.
func (f *spmFolder) mbart() (func() error, error) {
	pieces := append(f.fairseq("bos"), zeroPieces(mbartLanguages)...)
	pieces = append(pieces, spmPiece{text: f.role("mask")})
	f.own = slices.DeleteFunc(f.own, func(t AddedToken) bool { return slices.Contains(mbartLanguages, t.Content) })
	f.own = append(extraTokens(mbartLanguages), f.own...)
	f.words(always)
	return f.suffixed(f.fields.text("src_lang", "en_XX")), f.unigram(pieces, 3)
}

// mbart50 puts the language in front.
func (f *spmFolder) mbart50() (func() error, error) {
	codes := slices.Concat(mbartLanguages, mbart50Languages)
	pieces := append(f.fairseq("cls"), zeroPieces(codes)...)
	pieces = append(pieces, spmPiece{text: f.role("mask")})
	f.own = append(f.own, extraTokens(codes)...)
	code := f.fields.text("src_lang", "en_XX")
	if !slices.Contains(codes, code) {
		return nil, fmt.Errorf("%w: src_lang %q", ErrFormat, code)
	}
	if err := f.spacesToOne(); err != nil {
		return nil, err
	}
	f.t.pre = f.spelled(always)
	return f.prefixed(code), f.unigram(pieces, 3)
}

// nllb is BPE whose first four pieces are fairseq's.
func (f *spmFolder) nllb() (func() error, error) {
	ids := map[string]int{}
	for i, role := range []string{"bos", "pad", "eos", "unk"} {
		ids[f.role(role)] = i
	}
	if len(ids) < 4 {
		return nil, fmt.Errorf("%w: bos, pad, eos and unk are not four tokens", ErrUnsupported)
	}
	for _, p := range f.pieces {
		if _, ok := ids[p.text]; !ok {
			ids[p.text] = len(ids)
		}
	}
	if len(f.charsmap) > 0 {
		if err := f.spacesToOne(); err != nil {
			return nil, err
		}
	}
	f.t.pre = f.spelled(always)
	around := f.prefixed
	if f.fields.bool("legacy_behaviour", false) {
		around = f.suffixed
	}
	return around(f.fields.text("src_lang", "eng_Latn")), f.bpe(byID(ids), f.role("unk"), false)
}

var (
	mbartLanguages = strings.Fields(`ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV
		my_MM ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN`)
	mbart50Languages = strings.Fields(`af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX
		sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI`)
)
