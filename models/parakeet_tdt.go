package models

import "github.com/avoformer/avoformer/models/internal/block"

// Parakeet with a transducer that predicts tokens and their durations: Xu et al., 2023, "Efficient
// Sequence Transduction by Jointly Predicting Tokens and Durations".

func init() {
	Register(newParakeetTDT, "parakeet_tdt")
	Describe(Traits{Use: UseSpeech}, "parakeet_tdt")
}

type parakeetTDTConfig struct {
	Vocab      int    `json:"vocab_size"`
	Dim        int    `json:"decoder_hidden_size"`
	Layers     int    `json:"num_decoder_layers"`
	Activation string `json:"hidden_act"`
	MaxSymbols int    `json:"max_symbols_per_step"`
	Blank      int    `json:"blank_token_id" min:"0"`
	Durations  []int  `json:"durations"`
}

func newParakeetTDT(c *Checkpoint) (*Model, error) {
	config := parakeetTDTConfig{Vocab: 8193, Dim: 640, Layers: 2, Activation: "relu", MaxSymbols: 10, Blank: 8192, Durations: []int{0, 1, 2, 3, 4}}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if err := config.check(c); err != nil {
		return nil, err
	}
	activation, err := c.doc.Activation("hidden_act", config.Activation)
	if err != nil {
		return nil, err
	}
	if c.Config.Head() != "ForTDT" {
		return nil, c.unknownHead()
	}
	a, err := c.parakeet()
	if err != nil {
		return nil, err
	}
	c.Config.Vocab = config.Vocab
	start := c.Config.DecoderStart
	if start < 0 {
		start = config.Blank
	}
	return &Model{Audio: a, Transducer: block.LoadTransducer(block.TransducerConfig{
		In: a.Dim(), Dim: config.Dim, Layers: config.Layers, Vocab: config.Vocab, Blank: config.Blank, Start: start, End: c.Config.EOSTokens,
		Durations: config.Durations, MaxSymbols: config.MaxSymbols, Activation: activation,
	}, c.Loader)}, nil
}

const (
	mostSymbols   = 1000
	mostDuration  = 1 << 16
	mostDurations = 1000
)

// check returns the error of fields that contradict each other.
func (config *parakeetTDTConfig) check(c *Checkpoint) error {
	switch {
	case config.Blank >= config.Vocab:
		return c.Errorf("blank_token_id", "want a token, of which there are vocab_size = %d", config.Vocab)
	case c.Config.DecoderStart >= config.Vocab:
		return c.Errorf("decoder_start_token_id", "want a token, of which there are vocab_size = %d", config.Vocab)
	case config.MaxSymbols > mostSymbols:
		return c.Errorf("max_symbols_per_step", "want at most %d", mostSymbols)
	case len(config.Durations) == 0 || len(config.Durations) > mostDurations:
		return c.Errorf("durations", "want 1 to %d", mostDurations)
	}
	for _, n := range config.Durations {
		if n < 0 || n > mostDuration {
			return c.Errorf("durations", "want numbers from 0 to %d", mostDuration)
		}
	}
	return nil
}
