// This file has the commands generate, translate and transcribe, which print text.

package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/internal/overrides"
	"github.com/avoformer/avoformer/internal/textline"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/sound"
)

// printAs prints pieces as text. If as is not nil, it prints a line of JSON with the fields of as.
func (a *app) printAs(as map[string]any, pieces iter.Seq2[text.Piece, error]) (string, error) {
	if as == nil {
		return a.printPieces(pieces)
	}
	all, err := text.Collect(pieces)
	if err != nil {
		return all.Text, err
	}
	as["text"] = all.Text
	if err := a.printJSON(as); err != nil {
		return all.Text, err
	}
	return all.Text, a.out.Flush()
}

// printAnswer prints an answer as printAs does, and in addition its end, its counts and its speed:
// in fields of the JSON, or on the standard error.
func (a *app) printAnswer(as map[string]any, pieces iter.Seq2[text.Piece, error]) (string, error) {
	var last text.Piece
	seen := func(yield func(text.Piece, error) bool) {
		for piece, err := range pieces {
			if err == nil {
				last = piece
			} else if errors.Is(err, fault.ErrCut) {
				err = fmt.Errorf("%w; -max-tokens allows more", err)
			}
			if !yield(piece, err) {
				return
			}
		}
	}
	if as != nil {
		all, err := text.Collect(seen)
		if err != nil {
			return all.Text, err
		}
		u := all.Usage
		as["text"], as["finish"], as["prompt_tokens"], as["tokens"] = all.Text, all.Finish.String(), u.Prompt, u.Tokens
		as["prompt_seconds"], as["seconds"], as["tokens_per_second"] = u.First.Seconds(), u.Rest.Seconds(), u.Rate()
		if err := a.printJSON(as); err != nil {
			return all.Text, err
		}
		return all.Text, a.out.Flush()
	}
	all, err := a.printPieces(seen)
	if err == nil && !a.silent {
		if err = a.out.Flush(); err == nil {
			fmt.Fprintln(a.err, "avoformer:", ended(last))
		}
	}
	return all, err
}

// ended describes the end of an answer, its counts and its speed.
func ended(last text.Piece) string {
	u := last.Usage
	s := fmt.Sprintf("%d tokens", u.Tokens)
	if rate := u.Rate(); u.Rest > 10*time.Millisecond && rate > 0 { // too short to measure otherwise
		s += fmt.Sprintf(", %.0f a second", rate)
	}
	s += fmt.Sprintf(", after a prompt of %d in %.2f s", u.Prompt, u.First.Seconds())
	if last.Finish == generation.FinishLength {
		s += "; it was cut there: -max-tokens or the model's context allow no more"
	}
	return s
}

// printPieces writes each piece of text when it arrives.
func (a *app) printPieces(pieces iter.Seq2[text.Piece, error]) (string, error) {
	var all strings.Builder
	for piece, err := range pieces {
		if err != nil {
			return all.String(), err
		}
		all.WriteString(piece.Text)
		if _, err := a.out.WriteString(piece.Text); err != nil {
			return all.String(), err
		}
		if err := a.out.Flush(); err != nil {
			return all.String(), err
		}
	}
	return all.String(), a.out.WriteByte('\n')
}

// generation adds the flags of commands that generate text from a prompt or a text.
func (f *flags) generation(o *text.GenerateOptions) decoderFlags {
	f.IntVar(&o.MaxTokens, "max-tokens", 0, "most new tokens; default: the folder's, or 256")
	f.IntVar(&o.Beams, "beams", 0, "width of the search for the most likely text, 1 for no search; default: the folder's, or no search")
	f.Float64Var(&o.RepetitionPenalty, "repetition-penalty", 0, "above 1 makes tokens that occurred before less likely; default: the folder's")
	f.IntVar(&o.NoRepeatNgram, "no-repeat-ngram", 0, "no sequence of so many tokens occurs twice, 0 for no such limit; default: the folder's")
	return f.decoder()
}

const projectorUsage = "`file` with the encoder of images for a model in a GGUF file; default: the only one in its folder whose name has mmproj in it"

// projector adds the flag -mmproj of commands that read images.
func (f *flags) projector() *string { return f.String("mmproj", "", projectorUsage) }

// filterFlags are the flags of sampling that apply only above a temperature of 0.
var filterFlags = []string{"top-k", "top-p", "min-p"}

func generate(a *app, args []string) error {
	f := a.flags("generate")
	chat := f.Bool("chat", false, "chat: PROMPT is the user's message; without PROMPT, each line of the standard input is a message, and the answers follow one by one; on a terminal an interrupt (Ctrl-C) ends the answer, and at the prompt the chat")
	system := f.String("system", "", "the system's message of a chat; implies -chat")
	var o text.GenerateOptions
	common := f.generation(&o)
	var stated overrides.Sampling
	f.Func("temperature", "`number` that the logits are divided by, 0 is greedy; default: the folder's", stating(&stated.Temperature, parseFloat))
	f.Func("top-k", "choose among this `number` of most likely tokens, 0 for all; default: the folder's", stating(&stated.TopK, strconv.Atoi))
	f.Func("top-p", "choose among the most likely tokens that together have this `probability`, at least one, 1 for all; default: the folder's", stating(&stated.TopP, parseFloat))
	f.Func("min-p", "choose among tokens at least this `number` of times as likely as the likeliest, from 0 for all to 1; default: the folder's", stating(&stated.MinP, parseFloat))
	f.Uint64Var(&o.Seed, "seed", 0, "the same seed gives the same text; 0: a random seed")
	f.Func("schema", "the text follows the JSON schema in this `file`", grammarOf(&o, a.schema))
	f.Func("grammar", "the text follows the GBNF grammar in this `file`", grammarOf(&o, func(source []byte) (*grammar.Grammar, error) { return grammar.GBNF(string(source)) }))
	draft := f.String("draft", "", "`folder` of a smaller model with the same vocabulary, which proposes tokens: the text is the same, but is generated faster")
	mtp := f.Bool("mtp", false, "open the model's own layer that predicts further tokens, which takes memory; it proposes tokens where that saves time, and the text is the same")
	f.Func("image", "`file` of an image for the user's first message; implies -chat; may be given several times", func(name string) error {
		image, err := readFile(name)
		o.Images = append(o.Images, image)
		return err
	})
	projector := f.projector()
	asJSON := f.json("a line for each answer: text, finish, prompt_tokens, tokens, prompt_seconds, seconds, tokens_per_second")
	f.Func("stop", "end the answer before this `text`; may be given several times", func(s string) error { o.Stop = append(o.Stop, s); return nil })
	rest, err := f.parse(args, 1, 2)
	if err != nil {
		return err
	}
	held, err := common.options()
	if err != nil {
		return err
	}
	held.Model.MTP = *mtp
	if *draft != "" {
		if held.Draft, err = a.pulled(*draft); err != nil {
			return err
		}
	}
	held.Model.Images, held.Model.Projector = len(o.Images) > 0, *projector
	g, err := openModel(a, text.OpenGenerator, rest[0], held)
	if err != nil {
		return err
	}
	defaults, err := g.Defaults()
	if err != nil && !f.given("temperature", "beams") {
		return err
	}
	usual := g.SamplingFrom() == ""
	if usual {
		defaults.Sampling = overrides.LlamaCpp
	}
	if err := f.fill(&o, &stated, defaults); err != nil {
		return err
	}
	if usual && o.Temperature > 0 && !stated.Any() {
		fmt.Fprintf(a.err, "avoformer: -temperature %g -top-k %d -top-p %g -min-p %g, llama.cpp's defaults, since the file states none\n", o.Temperature, o.TopK, o.TopP, o.MinP)
	}
	if o.Temperature == 0 && f.given(filterFlags...) {
		return usagef("-top-k, -top-p and -min-p need a -temperature above 0, and no -beams")
	}
	prompt := arg(rest, 1)
	if prompt == "-" { // the prompt is the standard input, without the end of its last line
		all, err := io.ReadAll(io.LimitReader(a.reading(a.in), textline.Max+1))
		if err != nil {
			return err
		}
		if len(all) > textline.Max {
			return fmt.Errorf("the prompt has more than %d bytes", textline.Max)
		}
		prompt = strings.TrimSuffix(strings.TrimSuffix(strings.ToValidUTF8(string(all), "\ufffd"), "\n"), "\r")
	}
	as := func() map[string]any {
		if *asJSON {
			return map[string]any{}
		}
		return nil
	}
	if len(rest) == 2 && !*chat && *system == "" && len(o.Images) == 0 {
		_, err := a.printAnswer(as(), g.Generate(a.ctx, prompt, o))
		return err
	}
	said := a.turns()
	if len(rest) == 2 {
		a.talks = false // there is one answer, and an interrupt ends the command
		said = func(yield func(string, error) bool) { yield(prompt, nil) }
	}
	return a.chat(g, *system, said, as, o)
}

// schema compiles a JSON schema, and warns about the parts that the grammar does not enforce.
func (a *app) schema(source []byte) (*grammar.Grammar, error) {
	g, unheld, err := grammar.SchemaOptions{Lenient: true}.Compile(source)
	for _, u := range unheld {
		fmt.Fprintf(a.err, "avoformer: warning: the text may break the schema at %v\n", u)
	}
	return g, err
}

// grammarOf returns the function of a flag that reads a grammar from a file.
func grammarOf(o *text.GenerateOptions, compile func(source []byte) (*grammar.Grammar, error)) func(name string) error {
	return func(name string) error {
		source, err := readFile(name)
		if err != nil {
			return err
		}
		o.Grammar, err = compile(source)
		return err
	}
}

// stating returns the function of a flag that sets to. A flag that is given as 0 differs from a
// flag that is not given.
func stating[T any](to **T, parse func(s string) (T, error)) func(s string) error {
	return func(s string) error {
		x, err := parse(s)
		if err != nil {
			return errors.New("want a number")
		}
		*to = &x
		return nil
	}
}

func parseFloat(s string) (float64, error) { return strconv.ParseFloat(s, 64) }

// fill sets options that were not given to the folder's defaults, and sampling options to the
// stated ones. Beams or a greedy choice turn sampling off.
func (f *flags) fill(o *text.GenerateOptions, stated *overrides.Sampling, defaults text.GenerateOptions) error {
	// 0 in these options means the folder's default: a given 0 is an error, or -1 if it turns the
	// option off.
	switch {
	case f.given("max-tokens") && o.MaxTokens == 0:
		return usagef("-max-tokens 0: want at least 1")
	case f.given("repetition-penalty") && o.RepetitionPenalty == 0:
		return usagef("-repetition-penalty 0: want more than 0")
	case f.given("no-repeat-ngram") && o.NoRepeatNgram == 0:
		o.NoRepeatNgram = -1
	}
	o.Stop = append(o.Stop, defaults.Stop...)
	if !f.given("max-tokens") {
		o.MaxTokens = defaults.MaxTokens
	}
	stated.Apply(&o.Sampling)
	greedy := stated.Temperature != nil && o.Temperature == 0
	if !f.given("beams") && o.Temperature == 0 && o.Grammar == nil {
		o.Beams = defaults.Beams
	}
	if o.Beams > 1 || greedy {
		return nil
	}
	seed := o.Seed
	o.Sampling = defaults.Sampling
	stated.Apply(&o.Sampling)
	o.Seed = seed
	return nil
}

// turns returns the lines of the standard input that are not blank. On a terminal it prints a mark
// before each of them.
func (a *app) turns() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		in := textline.NewReader(a.reading(a.in))
		for {
			if a.talks {
				if err := a.out.Flush(); err != nil { // the answer must end before the mark
					yield("", err)
					return
				}
				fmt.Fprint(a.err, "> ")
			}
			line, err := in.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil || strings.TrimSpace(string(line)) != "" {
				if !yield(string(line), err) || err != nil {
					return
				}
			}
		}
	}
}

// chat answers the user's messages one after the other.
func (a *app) chat(g *text.Generator, system string, said iter.Seq2[string, error], as func() map[string]any, o text.GenerateOptions) error {
	var messages []text.Message
	if system != "" {
		messages = append(messages, text.Message{Role: "system", Content: system})
	}
	asked := false
	for line, err := range said {
		if err != nil {
			return err
		}
		m := text.Message{Role: "user", Content: line}
		if !asked && len(o.Images) > 0 {
			m.Fields = map[string]any{"content": withImages(line, len(o.Images))}
		}
		messages = append(messages, m)
		ctx, done := a.ctx, func() {}
		if a.talks {
			ctx, done = a.untilInterrupt()
		}
		answer, err := a.printAnswer(as(), g.Chat(ctx, messages, o))
		done()
		if errors.Is(err, errAnswerEnded) { // the next turn follows the part that was printed
			fmt.Fprintln(a.err)
			err = nil
		}
		if errors.Is(err, fault.ErrTemplate) && !asked {
			return fmt.Errorf("%w; generate DIR PROMPT needs no template", err)
		} else if err != nil {
			return err
		}
		messages, asked = append(messages, text.Message{Role: "assistant", Content: answer}), true
	}
	return nil
}

// withImages returns the content of a message with a number of images and a text.
func withImages(said string, images int) (parts []map[string]string) {
	for range images {
		parts = append(parts, map[string]string{"type": "image"})
	}
	return append(parts, map[string]string{"type": "text", "text": said})
}

func translate(a *app, args []string) error {
	f := a.flags("translate")
	input := f.input()
	var o text.TranslateOptions
	common := f.generation(&o.GenerateOptions)
	f.StringVar(&o.Prefix, "prefix", "", "`text` before each line, such as \"summarize: \"")
	f.StringVar(&o.Language, "to", "", "`language` to translate to, for models of several languages")
	asJSON := f.json("a line for each: index from 0, source, text")
	rest, err := f.parse(args, 1, 2)
	if err != nil {
		return err
	}
	held, err := common.options()
	if err != nil {
		return err
	}
	in, err := input.open(arg(rest, 1))
	if err != nil {
		return err
	}
	defer in.Close()
	t, err := openModel(a, text.OpenTranslator, rest[0], held)
	if err != nil {
		return err
	}
	defaults, err := t.Defaults()
	if err != nil && !f.given("beams") {
		return err
	}
	if err := f.fill(&o.GenerateOptions, &overrides.Sampling{}, defaults.GenerateOptions); err != nil {
		return err
	}
	if a.shown {
		in.progress.hide()
	}
	return in.eachChunk(1, func(first int, texts []string) error {
		var as map[string]any
		if *asJSON {
			as = map[string]any{"index": first, "source": texts[0]}
		}
		if _, err := a.printAs(as, t.Stream(a.ctx, texts[0], o)); err != nil {
			return fmt.Errorf("line %d: %w", in.N, err)
		}
		return nil
	})
}

func transcribe(a *app, args []string) error {
	f := a.flags("transcribe")
	var o text.TranscribeOptions
	f.StringVar(&o.Language, "language", "", "`language` spoken, such as en; default: the model guesses")
	f.BoolVar(&o.Translate, "translate", false, "translate into English")
	f.IntVar(&o.Beams, "beams", 0, "width of the search for the most likely text; default: no search")
	times := f.Bool("times", false, "print a line for each part: its first second, its last, its text; a part is a segment or a word, depending on the model")
	words := f.Bool("words", false, "print a line for each word, as -times does for each part")
	asJSON := f.json("a line for each: file, text; with -times: file, segments; with -words: file, words")
	common := f.decoder()
	rest, err := f.parse(args, 2, -1)
	if err != nil {
		return err
	}
	held, err := common.options()
	if err != nil {
		return err
	}
	t, err := openModel(a, text.OpenTranscriber, rest[0], held)
	if err != nil {
		return err
	}
	for _, name := range rest[1:] {
		file, err := a.open(name)
		if err != nil {
			return err
		}
		samples, err := sound.Read(a.ctx, file, sound.Options{Memory: a.memoryLimit / 4})
		file.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var as map[string]any
		if *asJSON {
			as = map[string]any{"file": name}
		}
		var timed []text.Segment
		switch {
		case *words:
			if timed, _, err = t.Words(a.ctx, samples, o); err == nil {
				err = a.printTimes(as, "words", timed)
			}
		case *times:
			if timed, err = t.Segments(a.ctx, samples, o); err == nil {
				err = a.printTimes(as, "segments", timed)
			}
		default:
			_, err = a.printAs(as, t.Transcribe(a.ctx, samples, o))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// printTimes prints segments, or words, with their times: a line for each or, if as is not nil, a
// line of JSON with the fields of as and one of the given name.
func (a *app) printTimes(as map[string]any, name string, all []text.Segment) error {
	if as != nil {
		as[name] = all
		if err := a.printJSON(as); err != nil {
			return err
		}
		return a.out.Flush()
	}
	for _, s := range all {
		fmt.Fprintf(a.out, "%.2f\t%.2f\t%s\n", s.Start, s.End, strings.TrimSpace(s.Text))
	}
	return a.out.Flush()
}
