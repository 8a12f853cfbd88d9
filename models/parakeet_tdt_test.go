package models_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// TestTransducerConfigs refuses configurations that make no model.
func TestTransducerConfigs(t *testing.T) {
	t.Parallel()
	for _, fields := range []map[string]string{
		{"blank_token_id": "29", "decoder_start_token_id": "29", "max_symbols_per_step": "1001", "durations": "[]", "hidden_act": `"sine"`}, {"durations": "[0, -1]"}, {"durations": "[65537]"},
	} {
		modelstest.RefusesFields(t, "parakeet_tdt", fields)
	}
}

// TestTransducerStates: a state of another transducer, and parts of hidden states, are errors; a
// token that ends the text does.
func TestTransducerStates(t *testing.T) {
	t.Parallel()
	ws, x := new(models.Workspace), make([]float32, 50*32)
	for i := range x {
		x[i] = float32(i%13)/13 - 0.5
	}
	open := func(fields string) models.Transducer {
		return tftest.Must(models.OpenFS(modelstest.WithField(t, "parakeet_tdt", "eos_token_id", fields), models.Options{}))(t).Transducer
	}
	whole := open("null")
	said := tftest.Must(whole.Hear(ws, whole.Begin(50), x))(t)
	if len(said) < 2 {
		t.Fatalf("%d tokens are said", len(said))
	}
	last := said[len(said)-1].Token
	ends := open(strconv.Itoa(last))
	until := tftest.Must(ends.Hear(ws, ends.Begin(50), x))(t)
	if n := len(until); n == 0 || until[n-1].Token != last || n > 1 && until[n-2].Token == last {
		t.Errorf("%v, want an end after the first %d", until, last)
	}
	narrow := tftest.Must(models.New(modelstest.WithField(t, "parakeet_tdt", "decoder_hidden_size", "16")["config.json"].Data, transformer.Random(1), models.Options{}))(t).Transducer
	other := narrow.Begin(50)
	tftest.Must(narrow.Hear(ws, other, x[:32]))(t)
	for name, s := range map[string]*models.Transduction{"none": nil, "zero": {}, "of another width": other} {
		if _, err := whole.Hear(ws, s, x); !errors.Is(err, fault.ErrShape) {
			t.Errorf("state %s: %v", name, err)
		}
	}
	if _, err := whole.Hear(ws, whole.Begin(1), x[:33]); !errors.Is(err, fault.ErrShape) {
		t.Errorf("part of a hidden state: %v", err)
	}
	if said, err := whole.Hear(ws, whole.Begin(0), x); err != nil || len(said) > 0 {
		t.Errorf("sound without hidden states: %v, %v", said, err)
	}
}
