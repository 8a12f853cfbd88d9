package models

import (
	"math"
	"strings"

	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// What config.json says of the blocks of Mamba-2 ([mamba2.go]), which hybrid models have instead of
// attention, or in addition to it.

// mambaFields are the names of Bamba, Granite 4 and Falcon-H1.
type mambaFields struct {
	MambaHeads   int       `json:"mamba_n_heads"`
	MambaHeadDim any       `json:"mamba_d_head"` // an integer, or "auto": what Expand gives each head
	Groups       int       `json:"mamba_n_groups"`
	State        int       `json:"mamba_d_state"`
	Taps         int       `json:"mamba_d_conv"`
	Expand       int       `json:"mamba_expand"`
	ConvBias     bool      `json:"mamba_conv_bias"`
	InBias       bool      `json:"mamba_proj_bias"`
	Limit        stepLimit `json:"time_step_limit"`
}

// mambaDefaults returns transformers' defaults of fields that config.json lacks. Null means that
// there is no bias.
func mambaDefaults(c *Checkpoint) mambaFields {
	return mambaFields{MambaHeads: 128, MambaHeadDim: "auto", Groups: 1, State: 256, Taps: 4, Expand: 2, ConvBias: !c.doc.IsNull(hybridNames.ConvBias)}
}

// stepLimit is the least and the most that a time step may be. JSON has no infinite numbers, for
// which transformers writes an object.
type stepLimit []stepBound

type stepBound float64

func (b *stepBound) UnmarshalJSON(text []byte) error {
	var object struct {
		Float string `json:"__float__"`
	}
	if len(text) > 0 && text[0] == '{' {
		if err := pyjson.Unmarshal(text, &object); err != nil {
			return err
		}
		text = []byte(object.Float)
	}
	return pyjson.Unmarshal(text, (*float64)(b))
}

// bound sets the bounds of time steps.
func (s stepLimit) bound(d configuration.Document, m *transformer.Mamba2Config) error {
	const field = "time_step_limit"
	if s == nil {
		return nil
	}
	if len(s) != 2 || !(s[0] >= 0 && s[0] <= s[1]) || s[0] > math.MaxFloat32 {
		return d.Errorf(field, "want two numbers, the least and the most that a time step may be")
	}
	m.StepMin = float32(s[0])
	if s[1] <= math.MaxFloat32 {
		if m.StepMax = float32(s[1]); m.StepMax == 0 {
			return d.Errorf(field, "leaves no time steps but 0")
		}
	}
	return nil
}

// mambaNames are the names of fields, for errors and for the metadata of GGUF files.
type mambaNames struct{ Activation, Heads, HeadDim, Groups, State, Taps, ConvBias, InBias string }

// hybridNames has the names that hybrid models give to the fields of mambaFields.
var hybridNames = mambaNames{
	Activation: "hidden_act", Heads: "mamba_n_heads", HeadDim: "mamba_d_head", Groups: "mamba_n_groups", State: "mamba_d_state", Taps: "mamba_d_conv",
	ConvBias: "mamba_conv_bias", InBias: "mamba_proj_bias",
}

// block returns the block of a layer of the given width whose heads have inner channels together.
// names are those of the fields.
func (f *mambaFields) block(c *Checkpoint, names mambaNames, dim, inner int, activation string, eps float32) (transformer.Mamba2Config, error) {
	m := transformer.Mamba2Config{
		Dim: dim, Heads: f.MambaHeads, Groups: f.Groups, State: f.State, Taps: f.Taps, InBias: f.InBias, ConvBias: f.ConvBias, OutBias: f.InBias, Eps: eps, Negative: c.convention.Converted,
	}
	const mostState, mostTaps = 1 << 16, 1 << 10 // of what a configuration merely claims
	switch {
	case activation != "silu" && activation != "swish":
		return m, c.doc.Errorf(names.Activation, "want silu, which is the activation of the convolutions too")
	case inner%f.MambaHeads != 0:
		return m, c.doc.Errorf(names.Heads, "does not divide the %d channels of all heads", inner)
	case f.State > mostState:
		return m, c.doc.Errorf(names.State, "want at most %d", mostState)
	case f.Taps > mostTaps:
		return m, c.doc.Errorf(names.Taps, "want at most %d", mostTaps)
	case f.MambaHeads%f.Groups != 0:
		return m, c.doc.Errorf(names.Groups, "does not divide %s = %d", names.Heads, f.MambaHeads)
	}
	m.HeadDim = inner / f.MambaHeads
	if f.MambaHeadDim != "auto" && f.MambaHeadDim != float64(m.HeadDim) {
		return m, c.doc.Errorf(names.HeadDim, `want "auto" or %d, what %d channels give each head`, m.HeadDim, inner)
	}
	return m, f.Limit.bound(c.doc, &m)
}

// backboneNames returns the name that Mamba-2 and Nemotron-H have for a tensor, for the name that
// other decoders have.
func backboneNames(name string) string {
	rest, inModel := strings.CutPrefix(name, "model.")
	if end, ok := strings.CutPrefix(rest, "embed_tokens."); ok {
		rest = "embeddings." + end
	}
	if inModel {
		return "backbone." + rest
	}
	return rest
}
