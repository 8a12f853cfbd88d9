package llamacpp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// This file reads the encoder of images, which llama.cpp has in a second file, the mmproj file, of
// the architecture clip.

// A Projector is the contents of an mmproj file, as the fields and files of a model folder.
type Projector struct {
	Kind      string                   // llama.cpp's name: gemma3, idefics3, lfm2 or qwen3vl_merger
	Document  configuration.Document   // the fields of config.json about images
	Processor []byte                   // processor_config.json
	Weights   transformer.Reader       // of both files
	Names     func(name string) string // from Hugging Face's names of tensors to llama.cpp's; names of the text stay
	Warnings  []string                 // about parts that are not read
}

// projectors are the kinds of projectors, by llama.cpp's names, and the functions that read their
// metadata.
var projectors = map[string]func(p *projectorReader){"gemma3": (*projectorReader).gemma3, "idefics3": (*projectorReader).idefics3, "lfm2": (*projectorReader).lfm2, "qwen3vl_merger": (*projectorReader).qwen}

// ReadProjector reads the encoder of images for a text.
func ReadProjector(file *gguf.File, text *Model) (*Projector, error) {
	const architecture, kind = "general.architecture", "clip.projector_type"
	p := &projectorReader{Reader: Reader{File: file, Architecture: "clip", Fields: map[string]any{}, read: map[string]bool{architecture: true, kind: true}}, text: text.file}
	if name, err := file.Text(architecture); err != nil {
		return nil, err
	} else if name != "clip" {
		return nil, configuration.KeyError(architecture, strconv.Quote(name), `want "clip", that of a file with an encoder of images`)
	}
	name, err := file.Text(kind)
	if err != nil {
		return nil, &fault.Error{Kind: fault.ErrConfig, Field: kind, Err: err}
	}
	read, ok := projectors[name]
	if !ok {
		return nil, configuration.KeyError(kind, strconv.Quote(name), "want one of %s", strings.Join(slices.Sorted(maps.Keys(projectors)), ", "))
	}
	p.vision()
	read(p)
	if p.err != nil {
		return nil, p.err
	}
	out := &Projector{Kind: name, Names: p.renaming(), Warnings: p.unread()}
	p.Fields["vision_config"] = p.tower
	if out.Document, err = jsonDocument(p.Fields); err != nil {
		return nil, err
	}
	if out.Processor, err = json.Marshal(p.processor); err != nil {
		return nil, check.Errorf(fault.ErrConfig, "%v", err)
	}
	out.Weights, err = beside(text.Weights, transformer.FromGGUF(file), text.file, file)
	return out, err
}

// projectorReader collects the fields of config.json and of processor_config.json.
type projectorReader struct {
	Reader
	text             *gguf.File
	tower, processor map[string]any // vision_config, and what the processor needs
	swapped          bool           // the names of the two matrices of a feed-forward network
}

// mostOfProjector is the largest size that a file may claim.
const mostOfProjector = 1 << 14

// integer returns the value of a key, at least 1. If the default is 0, the file must have the key.
func (p *projectorReader) integer(key string, without int64) int64 {
	n, err := p.File.Int(p.Key(key))
	switch {
	case errors.Is(err, fault.ErrAbsent) && without > 0:
		return without
	case err != nil:
		p.Note(&fault.Error{Kind: fault.ErrConfig, Field: p.Key(key), Err: err})
	case n < 1 || n > mostOfProjector:
		p.Refuse(key, n, "want 1 to %d", mostOfProjector)
	}
	return min(max(n, 1), mostOfProjector) // reading continues after an error
}

// vision reads what all kinds have in common.
func (p *projectorReader) vision() {
	if !p.Flag("has_vision_encoder", true) || p.Flag("has_audio_encoder", false) {
		p.Refuse("has_vision_encoder", "", "want an encoder of images, and no other")
	}
	if !p.Flag("use_gelu", false) || p.Flag("use_silu", false) {
		p.Refuse("use_gelu", false, "want true")
	}
	for _, key := range []string{"vision.feature_layer", "vision.n_wa_pattern", "vision.wa_layer_indexes", "vision.image_grid_pinpoints", "vision.mm_patch_merge_type"} {
		if _, ok := p.File.Value(p.Key(key)); ok {
			p.Refuse(key, "", "not supported")
		}
	}
	eps, err := p.File.Float(p.Key("vision.attention.layer_norm_epsilon"))
	if err != nil {
		p.Note(&fault.Error{Kind: fault.ErrConfig, Field: p.Key("vision.attention.layer_norm_epsilon"), Err: err})
	}
	width := p.integer("vision.embedding_length", 0)
	p.tower = map[string]any{
		"hidden_size": width, "intermediate_size": p.integer("vision.feed_forward_length", 0), "num_hidden_layers": p.integer("vision.block_count", 0), "num_attention_heads": p.integer("vision.attention.head_count", 0),
		"image_size": p.integer("vision.image_size", 0), "patch_size": p.integer("vision.patch_size", 0), "layer_norm_eps": Shortest(eps), "hidden_act": "gelu_pytorch_tanh", "vision_use_head": false,
	}
	p.processor = map[string]any{"do_resize": true, "do_rescale": true, "do_normalize": true, "rescale_factor": 1. / 255, "image_mean": p.colours("vision.image_mean"), "image_std": p.colours("vision.image_std")}
	down, _ := p.File.Info("v.blk.0.ffn_down.weight")
	p.swapped = len(down.Shape) == 2 && int64(down.Shape[1]) == width && down.Shape[0] != down.Shape[1] // older files name them the other way round
	if n := p.integer("vision.projection_dim", 0); p.err == nil {
		if embedding, _ := p.text.Info("token_embd.weight"); len(embedding.Shape) != 2 || int64(embedding.Shape[1]) != n {
			p.Refuse("vision.projection_dim", n, "not the width of the text: the encoder of images belongs to another model")
		}
	}
}

// colours returns three numbers.
func (p *projectorReader) colours(key string) []float64 {
	x, err := p.File.Floats(p.Key(key))
	if err == nil && len(x) != 3 {
		err = fmt.Errorf("%d numbers, want 3", len(x))
	}
	if err != nil {
		p.Note(&fault.Error{Kind: fault.ErrConfig, Field: p.Key(key), Err: err})
		return nil
	}
	for i := range x {
		x[i] = Shortest(x[i])
	}
	return x
}

// token returns the id of a token of the text.
func (p *projectorReader) token(content string) int {
	const key = "tokenizer.ggml.tokens"
	all, err := p.text.Texts(key)
	at := slices.Index(all, content)
	if at < 0 {
		if err == nil {
			err = fmt.Errorf("lacks %q, which images need", content)
		}
		p.Note(&fault.Error{Kind: fault.ErrConfig, Field: key, Err: err})
	}
	return at
}

// square returns the number of patches on a side of an image, and on a side of the squares of them
// that become tokens.
func (p *projectorReader) square(without int64) (side, square int64) {
	side, square = p.tower["image_size"].(int64)/p.tower["patch_size"].(int64), p.integer("vision.projector.scale_factor", without)
	if square > side {
		p.Refuse("vision.projector.scale_factor", square, "want at most the %d patches on a side of an image", side)
	}
	return max(side, square), square
}

func (p *projectorReader) gemma3() {
	side, square := p.square(4)
	tokens := side / square
	if side/tokens != square {
		p.Refuse("vision.projector.scale_factor", square, "does not fit %d patches on a side of an image", side)
	}
	size := p.tower["image_size"]
	p.tower["model_type"] = "siglip_vision_model"
	p.Fields["mm_tokens_per_image"] = tokens * tokens
	p.Fields["image_token_index"], p.Fields["boi_token_index"], p.Fields["eoi_token_index"] = p.token("<image_soft_token>"), p.token("<start_of_image>"), p.token("<end_of_image>")
	maps.Copy(p.processor, map[string]any{"image_processor_type": "Gemma3ImageProcessor", "resample": 2, "size": map[string]any{"height": size, "width": size}})
	p.processor = map[string]any{"image_processor": p.processor, "image_seq_length": tokens * tokens}
}

func (p *projectorReader) idefics3() {
	side, square := p.square(2)
	p.Fields["image_token_id"], p.Fields["scale_factor"] = p.token("<image>"), square
	maps.Copy(p.processor, map[string]any{
		"image_processor_type": "Idefics3ImageProcessor", "resample": 1, "do_image_splitting": true, "max_image_size": map[string]any{"longest_edge": p.tower["image_size"]},
		"size": map[string]any{"longest_edge": p.integer("vision.preproc_image_size", 0)},
	})
	p.processor = map[string]any{"image_processor": p.processor, "image_seq_len": side / square * (side / square)}
}

// lfm2 reads the projector of LFM2-VL. The metadata do not say how images are cut; all published
// models cut them in the same way.
func (p *projectorReader) lfm2() {
	_, square := p.square(2)
	hidden, _ := p.File.Info("mm.1.weight")
	positions, _ := p.File.Info("v.position_embd.weight")
	if len(hidden.Shape) != 2 || len(positions.Shape) != 2 {
		p.Note(&fault.Error{Kind: fault.ErrMissing, Field: "mm.1.weight, v.position_embd.weight", Err: errors.New("want matrices")})
		return
	}
	p.tower["model_type"], p.tower["num_patches"] = "siglip2_vision_model", positions.Shape[0]
	delete(p.tower, "image_size")
	p.Fields["image_token_id"], p.Fields["downsample_factor"] = p.token("<image>"), square
	p.Fields["projector_hidden_size"], p.Fields["projector_bias"], p.Fields["projector_use_layernorm"] = hidden.Shape[0], p.Has("mm.1.bias"), p.Has("mm.input_norm.weight")
	maps.Copy(p.processor, map[string]any{"image_processor_type": "Lfm2VlImageProcessor", "resample": 2, "encoder_patch_size": p.tower["patch_size"], "downsample_factor": square})
	p.processor = map[string]any{"image_processor": p.processor}
}

// qwen reads the tower of Qwen 3.5, of the kind that llama.cpp calls by Qwen3-VL. The metadata do
// not say of how many pixels images are; all published models have the same limits.
func (p *projectorReader) qwen() {
	const deep, epsilon, tokensLeast, tokensMost, most = "vision.is_deepstack_layers", "vision.attention.layer_norm_epsilon", 1 << 6, 1 << 14, 1 << 9
	value, found := p.File.Value(p.Key(deep))
	if layers, ok := value.([]bool); found && (!ok || slices.Contains(layers, true)) {
		p.Refuse(deep, value, "want no layer whose rows layers of the text add, as in Qwen3-VL")
	}
	if eps := p.tower["layer_norm_eps"]; eps != 1e-6 {
		p.Refuse(epsilon, eps, "want that of the model, 1e-06")
	}
	patch, square := p.tower["patch_size"].(int64), p.integer("vision.spatial_merge_size", 2)
	if patch*square > most {
		p.Refuse("vision.spatial_merge_size", square, "want squares of at most %d pixels, patches have %d", most, patch)
		return
	}
	positions, _ := p.File.Info("v.position_embd.weight")
	if len(positions.Shape) != 2 {
		p.Note(&fault.Error{Kind: fault.ErrMissing, Field: "v.position_embd.weight", Err: errors.New("want a matrix")})
		return
	}
	p.tower = map[string]any{
		"hidden_size": p.tower["hidden_size"], "intermediate_size": p.tower["intermediate_size"], "depth": p.tower["num_hidden_layers"], "num_heads": p.tower["num_attention_heads"],
		"patch_size": patch, "spatial_merge_size": square, "num_position_embeddings": positions.Shape[0], "out_hidden_size": p.integer("vision.projection_dim", 0),
	}
	p.Fields["image_token_id"], p.Fields["video_token_id"] = p.token("<|image_pad|>"), p.token("<|video_pad|>")
	area := patch * square * patch * square
	maps.Copy(p.processor, map[string]any{
		"image_processor_type": "Qwen2VLImageProcessor", "resample": 3, "patch_size": patch, "merge_size": square, "size": map[string]any{"shortest_edge": tokensLeast * area, "longest_edge": tokensMost * area},
	})
	p.processor = map[string]any{"image_processor": p.processor}
}

// towerNames are the parts of names under an encoder of images, projectionNames those under the
// projection to the width of the text, and qwenNames those of both in Qwen 3.5.
var (
	towerNames = strings.NewReplacer(
		"embeddings.patch_embedding.", "v.patch_embd.", "embeddings.position_embedding.", "v.position_embd.", "post_layernorm.", "v.post_ln.", "encoder.layers.", "v.blk.",
		".self_attn.q_proj.", ".attn_q.", ".self_attn.k_proj.", ".attn_k.", ".self_attn.v_proj.", ".attn_v.", ".self_attn.out_proj.", ".attn_out.",
		".layer_norm1.", ".ln1.", ".layer_norm2.", ".ln2.", ".mlp.fc1.", ".ffn_up.", ".mlp.fc2.", ".ffn_down.")
	projectionNames = strings.NewReplacer(
		"mm_input_projection_weight", "mm.input_projection.weight", "mm_soft_emb_norm.", "mm.soft_emb_norm.", "modality_projection.proj.", "mm.model.fc.",
		"linear_1.", "mm.1.", "linear_2.", "mm.2.", "layer_norm.", "mm.input_norm.")
	qwenNames = strings.NewReplacer(
		"patch_embed.proj.", "v.patch_embd.", "pos_embed.", "v.position_embd.", "merger.norm.", "v.post_ln.", "merger.linear_fc1.", "mm.0.", "merger.linear_fc2.", "mm.2.", "blocks.", "v.blk.",
		".attn.qkv.", ".attn_qkv.", ".attn.proj.", ".attn_out.", ".norm1.", ".ln1.", ".norm2.", ".ln2.", ".mlp.linear_fc1.", ".ffn_up.", ".mlp.linear_fc2.", ".ffn_down.")
	swappedNames = strings.NewReplacer(".ffn_up.", ".ffn_down.", ".ffn_down.", ".ffn_up.")
)

// renaming returns Projector.Names.
func (p *projectorReader) renaming() func(name string) string {
	swapped := p.swapped
	return func(name string) string {
		for prefix, names := range map[string]*strings.Replacer{
			"vision_tower.": towerNames, "vision_model.": towerNames, "multi_modal_projector.": projectionNames, "connector.": projectionNames, "visual.": qwenNames,
		} {
			if rest, ok := strings.CutPrefix(name, prefix); ok {
				if rest = names.Replace(rest); swapped {
					rest = swappedNames.Replace(rest)
				}
				return rest
			}
		}
		return name
	}
}

// ofImages reports whether a tensor is one of an encoder of images.
func ofImages(name string) bool {
	return strings.HasPrefix(name, "v.") || strings.HasPrefix(name, "mm.")
}

// besides are the weights of a text, and of the encoder of images in another file.
type besides struct{ text, images transformer.Reader }

// beside returns the weights of both files, whose tensors must have the names that belong there.
func beside(text, images transformer.Reader, of, in *gguf.File) (transformer.Reader, error) {
	for _, f := range []struct {
		file   *gguf.File
		images bool
	}{{of, false}, {in, true}} {
		for _, name := range f.file.Names() {
			if ofImages(name) != f.images {
				return nil, &fault.Error{Kind: fault.ErrWeights, Field: name, Err: errors.New("a tensor of the text in the file of the images, or the other way round")}
			}
		}
	}
	return besides{text, images}, nil
}

func (b besides) of(name string) transformer.Reader {
	if ofImages(name) {
		return b.images
	}
	return b.text
}

func (b besides) Names() []string { return slices.Concat(b.text.Names(), b.images.Names()) }

func (b besides) Tensor(name string, shape ...int) ([]float32, error) {
	return b.of(name).Tensor(name, shape...)
}

func (b besides) Shape(name string) ([]int, bool)   { return b.of(name).Shape(name) }
func (b besides) Format(name string) kernels.Format { return b.of(name).Format(name) }
func (b besides) Read(dst []float32, name string, from int) error {
	return b.of(name).Read(dst, name, from)
}

// ReadBlocks implements transformer.BlockReader.
func (b besides) ReadBlocks(dst []byte, name string, from int) error {
	r, ok := b.of(name).(transformer.BlockReader)
	if !ok {
		return errors.ErrUnsupported
	}
	return r.ReadBlocks(dst, name, from)
}
