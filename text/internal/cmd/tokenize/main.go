// Command tokenize answers requests of scripts/compare.py and scripts/speed.py.
//
//	tokenize FOLDER
//
// reads requests, one JSON object on a line, and prints the answers:
//
//	{"text": …, "pair": …, "plain": true}    without special tokens if plain
//	{"ids": […]}                             to decode
//
//	tokenize -time [-offsets] FOLDER
//
// reads a JSON array of texts and then, for each line, encodes all of them and prints the time.
// AVOFORMER_READY names a folder for ready files.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/avoformer/avoformer/text/tokenizer"
)

type request struct {
	Text  *string `json:"text"`
	Pair  *string `json:"pair"`
	Plain bool    `json:"plain"`
	IDs   []int   `json:"ids"`
}

type answer struct {
	IDs            []int    `json:"ids"`
	TypeIDs        []int    `json:"type_ids"`
	Attention      []int    `json:"attention_mask"`
	Special        []int    `json:"special_tokens_mask"`
	Offsets        [][2]int `json:"offsets"`
	Decoded        string   `json:"decoded"`
	DecodedSpecial string   `json:"decoded_special"`
}

type decoded struct {
	Decoded        string `json:"decoded"`
	DecodedSpecial string `json:"decoded_special"`
}

type failure struct {
	Error string `json:"error"`
}

type timing struct {
	Seconds  float64 `json:"seconds"`
	IDs      int     `json:"ids"`
	Checksum uint32  `json:"checksum"`
}

func main() {
	timed := flag.Bool("time", false, "measure instead of answering")
	offsets := flag.Bool("offsets", false, "with -time, compute offsets in characters too")
	flag.Parse()
	if err := run(flag.Arg(0), *timed, *offsets); err != nil {
		fmt.Fprintln(os.Stderr, "tokenize:", err)
		os.Exit(1)
	}
}

func run(folder string, timed, offsets bool) error {
	t, err := tokenizer.Opening{Ready: os.Getenv("AVOFORMER_READY")}.Open(folder)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	if timed {
		return measure(t, in, out, offsets)
	}
	d, e := json.NewDecoder(in), json.NewEncoder(out)
	for d.More() {
		var r request
		if err := d.Decode(&r); err != nil {
			return err
		}
		if err := e.Encode(reply(t, &r)); err != nil {
			return err
		}
	}
	return nil
}

func reply(t *tokenizer.Tokenizer, r *request) any {
	if r.Text == nil {
		return decoded{t.Decode(r.IDs, true), t.Decode(r.IDs, false)}
	}
	opts := tokenizer.Options{NoSpecial: r.Plain, Offsets: tokenizer.Characters}
	var e *tokenizer.Encoding
	var err error
	if r.Pair != nil {
		e, err = t.EncodePair(*r.Text, *r.Pair, opts)
	} else {
		e, err = t.Encode(*r.Text, opts)
	}
	if err != nil {
		return failure{err.Error()}
	}
	a := answer{IDs: e.IDs, TypeIDs: e.TypeIDs, Attention: make([]int, len(e.IDs)), Special: make([]int, len(e.IDs)), Offsets: make([][2]int, len(e.IDs)),
		Decoded: t.Decode(e.IDs, true), DecodedSpecial: t.Decode(e.IDs, false)}
	for i, o := range e.Offsets {
		a.Offsets[i] = [2]int{o.Start, o.End}
		if e.Attention[i] {
			a.Attention[i] = 1
		}
		if e.Special[i] {
			a.Special[i] = 1
		}
	}
	return a
}

func measure(t *tokenizer.Tokenizer, in *bufio.Reader, out *bufio.Writer, offsets bool) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var texts []string
	if err := json.Unmarshal(line, &texts); err != nil {
		return err
	}
	var opts tokenizer.Options
	if offsets {
		opts.Offsets = tokenizer.Characters
	}
	e := json.NewEncoder(out)
	for {
		if _, err := in.ReadString('\n'); err != nil {
			return nil // the end
		}
		start := time.Now()
		all, err := t.EncodeBatch(texts, opts)
		r := timing{Seconds: time.Since(start).Seconds()}
		if err != nil {
			return err
		}
		for _, x := range all {
			r.IDs += len(x.IDs)
			for _, id := range x.IDs {
				r.Checksum = r.Checksum*31 + uint32(id)
			}
		}
		if err := e.Encode(r); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}
