// This file has the flags -weights, -cache, -prompts and -adapter.

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text"
)

// stored is the value of -weights that keeps the formats of the model's files.
const stored = "stored"

const weightsUsage = "`format` of the weights: stored, which is float32, or what a GGUF file has; f32, bf16, f16, int8, blocks such as q8_0, or bf16_fast, whose results depend on the machine. " +
	"Products with blocks and int8 round what they multiply to integers, too: f32 does not, and takes 4 bytes a weight. Then, after commas, PATTERN=FORMAT for weights " +
	"whose names match, such as int8,encoder.layer.5.*=bf16"

// setWeights sets the formats in the value of a -weights flag.
func setWeights(o *models.Options, value string) (err error) {
	first, rest, _ := strings.Cut(value, ",")
	if o.Float32 = strings.EqualFold(first, "f32"); strings.EqualFold(first, stored) {
		first = "f32"
	}
	if rest != "" {
		first += "," + rest
	}
	o.WeightFormat, o.WeightFormats, err = parseWeights(first)
	return err
}

// parseWeights returns the format in the value of a -weights flag, and the formats for weights
// whose names match a pattern.
func parseWeights(value string) (format kernels.Format, formats []models.NamedFormat, err error) {
	for i, part := range strings.Split(value, ",") {
		pattern, name := "", part
		if i > 0 {
			var ok bool
			if pattern, name, ok = strings.Cut(part, "="); !ok {
				return format, nil, usagef("-weights: %q, want PATTERN=FORMAT after the first comma", part)
			}
		}
		f, err := kernels.ParseFormat(name)
		if err != nil {
			return format, nil, usagef("-weights: %s", strings.TrimPrefix(err.Error(), "kernels: "))
		}
		if i == 0 {
			format = f
		} else {
			formats = append(formats, models.NamedFormat{Pattern: pattern, Format: f})
		}
	}
	return format, formats, nil
}

// parseCache returns the format in the value of a -cache flag.
func parseCache(value string) (kernels.Format, error) {
	cache, err := kernels.ParseFormat(value)
	if err != nil || cache > kernels.FormatInt8 {
		return cache, usagef("-cache: unknown format %q, want one of f32, bf16, f16, int8", value)
	}
	return cache, nil
}

// memoryLimit adds the flag that limits the memory for opening models.
func (f *flags) memoryLimit() {
	f.Func("memory-limit", "most `MiB` of memory for the model, while it is loaded and while it computes; a model that needs more is an error before it takes them; avoformer info prints how many a model needs; default: what the machine and its cgroups allow", func(s string) error {
		n, err := strconv.ParseUint(s, 10, 40)
		if err != nil || n < 1 {
			return errors.New("want a whole number of MiB from 1 on")
		}
		f.app.memoryLimit = int64(n) << 20
		return nil
	})
}

// asWritten adds the flag -tokenizer-as-written, which uses tokenizer.json as it is.
func (f *flags) asWritten() {
	f.BoolVar(&f.app.asWritten, "tokenizer-as-written", false, "use tokenizer.json as it is, not the tokenizer that transformers' class builds from its vocabulary")
}

// adapters are low-rank changes to the model.
type adapters struct {
	app   *app
	names []string
	task  string // whose adapter the model's folder has; "": none
}

func (f *flags) adapters() *adapters {
	a := &adapters{app: f.app}
	f.taskVar(&a.task)
	f.Func("adapter", "`DIR[=SCALE]` of a LoRA adapter in peft's files, or a GGUF file of one for a model in a GGUF file; may be given several times", func(s string) error {
		a.names = append(a.names, s)
		return nil
	})
	return a
}

// taskVar adds the flag -task.
func (f *flags) taskVar(task *string) {
	f.StringVar(task, "task", "", "`name` of a task, such as retrieval, whose adapter is in the model's folder, as with jina-embeddings-v5")
}

// ofTask returns the adapter of a task; nil: none is named.
func ofTask(task string) []models.Adapter {
	if task == "" {
		return nil
	}
	return []models.Adapter{{Task: task}}
}

// String is what the flags say.
func (a *adapters) String() string {
	if a.task != "" {
		return fmt.Sprintf("%q task=%q", a.names, a.task)
	}
	return fmt.Sprintf("%q", a.names)
}

// list returns the adapters that the flags name. It pulls adapters of the hub.
func (a *adapters) list() (list []models.Adapter, err error) {
	for _, name := range a.names {
		one, err := a.app.adapter("adapter", name)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return append(list, ofTask(a.task)...), nil
}

// adapter returns the adapter for the value of a flag, DIR[=SCALE]. It pulls an adapter of the hub.
func (a *app) adapter(flag, name string) (one models.Adapter, err error) {
	if at := strings.LastIndexByte(name, '='); at >= 0 {
		if n, err := strconv.ParseFloat(name[at+1:], 32); err == nil {
			name, one.Scale = name[:at], float32(n)
			if one.Scale == 0 {
				return one, usagef("-%s %s: want a scale other than 0", flag, name)
			}
		}
	}
	one.Path, err = a.pulled(name)
	return one, err
}

// pathsOf returns the folders and files of adapters.
func pathsOf(list []models.Adapter) (paths []string) {
	for _, a := range list {
		if a.Task == "" { // the others are in the folder of the model
			paths = append(paths, a.Path)
		}
	}
	return paths
}

// decoderFlags are the flags of commands that generate text.
type decoderFlags struct {
	weights, cache, prompts *string
	threads                 *int
	adapters                *adapters
}

func (f *flags) decoder() decoderFlags {
	return f.decoderOn(f.Int("threads", 0, "most threads; default: one for each core"))
}

// decoderOn does the same as decoder, without adding the flag for threads.
func (f *flags) decoderOn(threads *int) decoderFlags {
	f.memoryLimit()
	f.asWritten()
	return decoderFlags{
		f.String("weights", stored, weightsUsage),
		f.String("cache", "f32", cacheUsage),
		f.String("prompts", "", promptsUsage),
		threads,
		f.adapters(),
	}
}

const cacheUsage = "`format` of the keys and values of the tokens so far: f32, bf16, f16 or int8"

const promptsUsage = "`format` of a second copy of the weights, for computing prompts: int8, or with weights of f32, bf16 or f16 also blocks or bf16_fast; int8 takes one byte more per weight; default: no second copy"

// parsePrompts returns the format in the value of a -prompts flag. Without the flag it returns
// float32, which means that the weights are not copied.
func parsePrompts(value string) (kernels.Format, error) {
	if value == "" {
		return kernels.FormatF32, nil
	}
	f, err := kernels.ParseFormat(value)
	if err != nil {
		return f, usagef("-prompts: %s", strings.TrimPrefix(err.Error(), "kernels: "))
	}
	if f < kernels.FormatInt8 {
		return f, usagef("-prompts %s: want int8, a format of blocks or bf16_fast", value)
	}
	return f, nil
}

// options returns the options of the pipeline.
func (d decoderFlags) options() (text.Options, error) {
	o := text.Options{Threads: *d.threads}
	if err := setWeights(&o.Model, *d.weights); err != nil {
		return o, err
	}
	var err error
	if o.Model.CacheFormat, err = parseCache(*d.cache); err != nil {
		return o, err
	}
	if o.Model.PromptFormat, err = parsePrompts(*d.prompts); err != nil {
		return o, err
	}
	o.Model.Adapters, err = d.adapters.list()
	return o, err
}
