package block

import (
	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// Two towers: an encoder of texts and one of images, trained so that vectors of what belongs
// together are close. CLIP and SigLIP have them.

// TowerConfigs returns the configurations of the encoders of texts and of images.
func TowerConfigs(d configuration.Document) (texts, images configuration.Document, err error) {
	if texts, err = d.Sub("text_config"); err == nil {
		images, err = d.Sub("vision_config")
		texts.Note("projection_dim") // CLIP's own counts
		images.Note("projection_dim")
	}
	return texts, images, err
}

// LogScale returns the factor whose logarithm a checkpoint has.
func LogScale(l *transformer.Loader, shape ...int) float32 {
	if x := l.Tensor("logit_scale", shape...); len(x) == 1 {
		return float32(elementary.Exp(float64(x[0])))
	}
	return 0
}

// TowerConfig is what both towers' configurations say.
type TowerConfig struct {
	Dim        int     `json:"hidden_size"`
	Layers     int     `json:"num_hidden_layers"`
	Heads      int     `json:"num_attention_heads"`
	Hidden     int     `json:"intermediate_size"`
	Activation string  `json:"hidden_act"`
	Eps        float32 `json:"layer_norm_eps"`
}

// TextTowerConfig is that of the texts' tower.
type TextTowerConfig struct {
	Vocab        int `json:"vocab_size"`
	MaxPositions int `json:"max_position_embeddings"`
	EOS          int `json:"eos_token_id" min:"-1"`
	Projection   int `json:"projection_size" min:"0"` // SigLIP's
}

// ImageTowerConfig is that of the images' tower.
type ImageTowerConfig struct {
	Image    int `json:"image_size"`
	Patch    int `json:"patch_size"`
	Channels int `json:"num_channels"`
}

var towerLayers = transformer.StackNames{Layers: "encoder.layers.%d.", Layer: transformer.LayerNames{
	Self: "self_attn.", SelfNorm: "layer_norm1.", FeedNorm: "layer_norm2.",
	Attention: transformer.AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "out_proj."},
	Feed:      transformer.FeedForwardNames{Up: "mlp.fc1.", Down: "mlp.fc2."},
}}

// DecodeAll fills several structs from one object. Each struct has some of its fields.
func DecodeAll(d configuration.Document, into ...any) error {
	for _, v := range into {
		if err := d.Decode(v); err != nil {
			return err
		}
	}
	return nil
}

// Stack returns the layers of a tower.
func (config *TowerConfig) Stack(d configuration.Document, l *transformer.Loader) (*transformer.Stack, error) {
	if config.Dim%config.Heads != 0 {
		return nil, d.Errorf("num_attention_heads", "does not divide hidden_size = %d", config.Dim)
	}
	feed, err := config.Feed(d)
	if err != nil {
		return nil, err
	}
	return l.Stack(transformer.StackConfig{Layers: config.Layers, Layer: transformer.LayerConfig{
		Self:        transformer.AttentionConfig{Dim: config.Dim, Heads: config.Heads, Bias: true, OutBias: true},
		FeedForward: feed, Norm: config.Norm(), NormFirst: true,
	}}, towerLayers), nil
}

// Feed returns the feed-forward network of a layer.
func (config *TowerConfig) Feed(d configuration.Document) (transformer.FeedForwardConfig, error) {
	feed := transformer.FeedForwardConfig{Dim: config.Dim, Hidden: config.Hidden, Bias: true}
	var err error
	feed.Activation, feed.Sharpness, err = d.FeedActivation("hidden_act", config.Activation)
	return feed, err
}

func (config *TowerConfig) Norm() transformer.NormConfig {
	return transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps}
}

// Side returns the number of patches in a row.
func (config *ImageTowerConfig) Side(d configuration.Document) (int, error) {
	side := config.Image / config.Patch
	if side < 1 || side > 1<<15 {
		return 0, d.Errorf("image_size", "%d patches of patch_size = %d in a row", side, config.Patch)
	}
	return side, nil
}

// LoadTextTower returns the encoder of texts.
func LoadTextTower(config TowerConfig, text TextTowerConfig, d configuration.Document, l *transformer.Loader) (*TextEncoder, error) {
	layers, err := config.Stack(d, l)
	if err != nil {
		return nil, err
	}
	layers.Norm = l.At("final_layer_norm.").Norm(config.Norm())
	return &TextEncoder{
		Embedder: Embedder{
			Tokens:    l.At("embeddings.token_embedding.").Embedding(text.Vocab, config.Dim),
			Positions: l.At("embeddings.position_embedding.").Embedding(text.MaxPositions, config.Dim),
		},
		Layers: layers,
	}, nil
}
