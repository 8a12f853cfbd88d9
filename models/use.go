package models

import (
	"encoding/json"
	"fmt"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// What models are for, by their configurations, before their weights are read.

// A Use is what a model is for.
type Use string

const (
	UseStates       Use = "hidden states" // of texts, from which vectors are made
	UseScore        Use = "a score of a pair"
	UseLabels       Use = "labels of a text"
	UseTokenLabels  Use = "labels of tokens"
	UseMasks        Use = "masked tokens"
	UseNextSentence Use = "next sentences"
	UseAnswers      Use = "parts of a text that answer"
	UseText         Use = "text that goes on"
	UseOtherText    Use = "text from text"
	UseSpeech       Use = "text of speech"
	UseImageLabels  Use = "labels of an image"
	UseImages       Use = "hidden states of images"
)

// heads has the use of models whose class ends with a head's name, whatever their model type. Those
// of texts from texts are not among them: see [Traits].
var heads = map[string]Use{
	"ForSequenceClassification": UseLabels,
	"ForTokenClassification":    UseTokenLabels,
	"ForMaskedLM":               UseMasks,
	"ForNextSentencePrediction": UseNextSentence,
	"ForQuestionAnswering":      UseAnswers,
	"ForImageClassification":    UseImageLabels,
	"ForCTC":                    UseSpeech,
	"ForRanking":                UseScore,
}

// generating are the heads that generate text.
var generating = map[string]Use{
	"ForCausalLM":              UseText,
	"LMHeadModel":              UseText,
	"ForConditionalGeneration": UseOtherText,
	"MTModel":                  UseOtherText,
}

// Traits describe the models of a model type, in addition to their parts.
type Traits struct {
	// Use is the use of models whose class names no head, or one that generates; "": the head
	// decides, or the use is hidden states.
	Use Use
	// NoVectors says why means of hidden states are not vectors of texts; "": they may be.
	NoVectors string
	// Judge has the prompt that asks a language model whether a text answers a query; nil: it was
	// not trained for that.
	Judge *Judge
}

// A Judge is the prompt with which a language model says how well a text answers a query, by the
// logits of two words that may follow. {instruction}, {query} and {text} stand for what is asked.
type Judge struct {
	Begin, End  string // around the pair
	Pair        string // the pair, or only the text if Query is not empty
	Query       string // the query, which becomes tokens by itself, as Separator after it does; "": Pair has the query
	Instructed  string // Query if there is an instruction
	Separator   string
	Instruction string // the usual one
	Yes, No     string // tokens
	Told        string // a part of the chat template of folders that ask so
	Limit       int    // most tokens: of everything or, if there is a Query, of what Begin and End are around
	Name        string // of the models that were trained with it
}

var traits = map[string]Traits{}

// Describe gives model types traits. It panics if one of them has some already.
func Describe(t Traits, modelTypes ...string) {
	registry.Lock()
	defer registry.Unlock()
	for _, name := range modelTypes {
		if _, twice := traits[name]; twice {
			panic(fmt.Sprintf("models.Describe: model type %q is described already", name))
		}
		traits[name] = t
	}
}

// TraitsOf returns the traits of a model type, none of one that is not described.
func TraitsOf(modelType string) Traits {
	registry.Lock()
	defer registry.Unlock()
	return traits[modelType]
}

// UseOf returns the use of the model that a config.json describes.
func UseOf(config []byte) (Use, error) {
	fields := struct {
		ModelType     string                     `json:"model_type"`
		Architectures []string                   `json:"architectures"`
		Labels        map[string]json.RawMessage `json:"id2label"`
		LabelCount    *int                       `json:"num_labels"`
		Timm          json.RawMessage            `json:"pretrained_cfg"` // as timm publishes its models, which name no class of transformers
		Classes       int                        `json:"num_classes"`
	}{}
	if err := pyjson.Unmarshal(config, &fields); err != nil {
		return "", check.InFile("config.json", fault.ErrFolder, err)
	}
	c := Config{Architectures: fields.Architectures}
	if use, ok := heads[c.Head()]; ok {
		labels := 2 // transformers' default
		if fields.LabelCount != nil {
			labels = *fields.LabelCount
		} else if fields.Labels != nil {
			labels = len(fields.Labels)
		}
		if use == UseLabels && labels == 1 {
			use = UseScore
		}
		return use, nil
	}
	if fields.Timm != nil && fields.Classes > 0 {
		return UseImageLabels, nil
	}
	if t := TraitsOf(fields.ModelType); t.Use != "" {
		return t.Use, nil
	}
	if use, ok := generating[c.Head()]; ok {
		return use, nil
	}
	return UseStates, nil
}

// UseOfGGUF returns the use of the model in a GGUF file.
func UseOfGGUF(file *gguf.File) (Use, error) {
	name, err := file.Text("general.architecture")
	if err != nil {
		return "", err
	}
	a := ggufArchitectures[name]
	switch pooling, err := file.Int(name + ".pooling_type"); {
	case err == nil && pooling != 0:
		return UseStates, nil
	case a.Decodes:
		return UseOtherText, nil
	case a.Encoder:
		return UseStates, nil
	}
	return UseText, nil
}

// Serves reports whether m has the parts for a use: an encoder and a head, a decoder with or
// without an encoder, or an embedder. A model may serve several uses.
func (m *Model) Serves(use Use) bool {
	switch use {
	case UseStates:
		return m.Embedders.Sentence != nil || m.LM == nil && m.NoVectors() == nil && !m.Embedders.Pairs
	case UseScore:
		return m.Embedders.Pairs || m.Serves(UseLabels) && m.Heads[HeadClassifier].Out() == 1
	case UseAnswers:
		return m.hasHead(HeadAnswer) && m.Heads[HeadAnswer].Out() == 2
	case UseText:
		return m.LM != nil && m.Encoder == nil && m.Audio == nil
	case UseOtherText:
		return m.LM != nil && m.Encoder != nil
	case UseSpeech:
		return m.Heads[HeadCTC] != nil || m.Transducer != nil || m.LM != nil && m.Audio != nil
	case UseImageLabels:
		return m.Image != nil && m.Heads[HeadImageClassifier] != nil
	case UseImages:
		return m.Image != nil
	}
	kind, ok := headsOfTexts[use]
	return ok && m.hasHead(kind)
}

// headsOfTexts are the heads of encoders that serve a use by themselves.
var headsOfTexts = map[Use]HeadKind{
	UseLabels: HeadClassifier, UseTokenLabels: HeadTokenClassifier, UseMasks: HeadMaskedLM, UseNextSentence: HeadNextSentence,
}

// hasHead reports whether m has a head of a kind for the hidden states of texts.
func (m *Model) hasHead(kind HeadKind) bool { return m.Encoder != nil && m.Heads[kind] != nil }

// BatchWidth returns the width of the hidden states of texts that are computed in batches: that of
// Encoder, or 0 for a model without one and for a model that generates.
func (m *Model) BatchWidth() int {
	if m.Encoder == nil || m.LM != nil {
		return 0
	}
	return m.Encoder.Dim()
}

// NoVectors returns the reason why vectors of texts cannot be made of the hidden states of m unless
// a modules.json says how, or nil.
func (m *Model) NoVectors() error {
	c := m.Config
	switch why := TraitsOf(c.ModelType).NoVectors; {
	case m.Heads[HeadClassifier] != nil || m.Heads[HeadTokenClassifier] != nil || m.Heads[HeadAnswer] != nil:
		return check.InFile("config.json", fault.ErrFolder, check.Errorf(fault.ErrFolder, "architectures = %q: want a modules.json that says how such a model computes vectors of texts", c.Architectures))
	case m.Encoder == nil || m.Audio != nil:
		return check.Errorf(fault.ErrFolder, "model_type %q has no encoder of tokens, and there is no modules.json", c.ModelType)
	case why != "":
		return check.Errorf(fault.ErrFolder, "model_type %q %s", c.ModelType, why)
	}
	return nil
}
