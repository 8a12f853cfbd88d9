// Which pipeline a folder is for.

package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// Kind is the kind of a pipeline.
type Kind string

// The kinds, each with the pipeline that it stands for.
const (
	KindEmbedder         Kind = "embedder"
	KindReranker         Kind = "reranker"
	KindClassifier       Kind = "classifier"
	KindTokenClassifier  Kind = "token-classifier"
	KindMaskFiller       Kind = "mask-filler"
	KindNextSentence     Kind = "next-sentence"
	KindQuestionAnswerer Kind = "question-answerer"
	KindGenerator        Kind = "generator"
	KindTranslator       Kind = "translator"
	KindTranscriber      Kind = "transcriber"
	KindImageClassifier  Kind = "image-classifier"
	KindImageEmbedder    Kind = "image-embedder"
)

// pipelines are the kinds with the names of their types, which options know, and what opens them.
var pipelines = []struct {
	kind Kind
	name string
	open func(dir string, opts []Option) (any, error)
}{
	{KindEmbedder, "Embedder", opened(OpenEmbedder)},
	{KindReranker, "Reranker", opened(OpenReranker)},
	{KindClassifier, "Classifier", opened(OpenClassifier)},
	{KindTokenClassifier, "TokenClassifier", opened(OpenTokenClassifier)},
	{KindMaskFiller, "MaskFiller", opened(OpenMaskFiller)},
	{KindNextSentence, "NextSentence", opened(OpenNextSentence)},
	{KindQuestionAnswerer, "QuestionAnswerer", opened(OpenQuestionAnswerer)},
	{KindGenerator, "Generator", opened(OpenGenerator)},
	{KindTranslator, "Translator", opened(OpenTranslator)},
	{KindTranscriber, "Transcriber", opened(OpenTranscriber)},
	{KindImageClassifier, "ImageClassifier", opened(OpenImageClassifier)},
	{KindImageEmbedder, "ImageEmbedder", opened(OpenImageEmbedder)},
}

// opened is a function that opens a pipeline, as one for pipelines of any type.
func opened[T any](open func(dir string, opts ...Option) (T, error)) func(dir string, opts []Option) (any, error) {
	return func(dir string, opts []Option) (any, error) {
		p, err := open(dir, opts...)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
}

// Kinds are all kinds.
func Kinds() []Kind {
	kinds := make([]Kind, len(pipelines))
	for i, p := range pipelines {
		kinds[i] = p.kind
	}
	return kinds
}

// OpenKind opens the pipeline of a kind in a folder: an *Embedder, a *Reranker and so on.
func OpenKind(kind Kind, dir string, opts ...Option) (any, error) {
	for _, p := range pipelines {
		if p.kind == kind {
			return p.open(dir, opts)
		}
	}
	return nil, noKind(kind)
}

func noKind(kind Kind) error {
	return fmt.Errorf("%w: kind %q, want one of %q", ErrOption, kind, Kinds())
}

// FootprintOf is the memory that the model of a pipeline of a kind in a folder would take, by the headers of its files.
func FootprintOf(kind Kind, dir string, opts ...Option) (models.Footprint, error) {
	at := slices.Index(Kinds(), kind)
	if at < 0 {
		return models.Footprint{}, noKind(kind)
	}
	o, err := newOptions(pipelines[at].name, opts)
	if err != nil {
		return models.Footprint{}, err
	}
	fsys, err := folder.FS(dir)
	if err != nil {
		return models.Footprint{}, err
	}
	headers := o.of()
	headers.HeadersOnly, headers.Warn = true, nil
	m, err := folder.Model(fsys, headers)
	if err != nil {
		return models.Footprint{}, fmt.Errorf("%s: %w", dir, err)
	}
	return m.Footprint, nil
}

// KindOf is the kind of a folder as its small files say, without its weights: what its modules.json makes vectors
// with, else what the first of config.json's architectures is for; a GGUF file with a pooling makes vectors too, one of T5
// translates, and all others generate. Where a folder serves
// several, such as a decoder with a modules.json, it is the one that its authors added.
func KindOf(dir string) (Kind, error) {
	fsys, err := folder.FS(dir)
	if err != nil {
		return "", err
	}
	kind, err := kindOf(fsys)
	if err != nil {
		return "", fmt.Errorf("%s: %w", dir, err)
	}
	return kind, nil
}

func kindOf(fsys fs.FS) (Kind, error) {
	if g, ok := fsys.(folder.GGUF); ok {
		return ggufKind(g)
	}
	embeds, err := embedsSentences(fsys)
	if err != nil {
		return "", err
	}
	data, err := regular.ReadFile(fsys, "config.json")
	if embeds && errors.Is(err, fs.ErrNotExist) { // a module StaticEmbedding needs none
		return KindEmbedder, nil
	} else if err != nil {
		return "", folder.Errorf("%w", err)
	}
	var config struct {
		ModelType     string                     `json:"model_type"`
		Architectures []string                   `json:"architectures"`
		Labels        map[string]json.RawMessage `json:"id2label"`
		LabelCount    *int                       `json:"num_labels"`
		Timm          json.RawMessage            `json:"pretrained_cfg"`
		Classes       int                        `json:"num_classes"`
	}
	if err := pyjson.Unmarshal(data, &config); err != nil {
		return "", folder.Errorf("config.json: %w", err)
	}
	class := ""
	if len(config.Architectures) > 0 {
		class = config.Architectures[0]
	}
	labels := 2 // transformers' default
	if config.LabelCount != nil {
		labels = *config.LabelCount
	} else if config.Labels != nil {
		labels = len(config.Labels)
	}
	ends := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(class, n) })
	}
	switch {
	case embeds:
		return KindEmbedder, nil
	case ends("ForSequenceClassification") && labels == 1:
		return KindReranker, nil
	case ends("ForSequenceClassification"):
		return KindClassifier, nil
	case ends("ForTokenClassification"):
		return KindTokenClassifier, nil
	case ends("ForMaskedLM"):
		return KindMaskFiller, nil
	case ends("ForNextSentencePrediction"):
		return KindNextSentence, nil
	case ends("ForQuestionAnswering"):
		return KindQuestionAnswerer, nil
	case ends("ForImageClassification"), config.Timm != nil && config.Classes > 0:
		return KindImageClassifier, nil
	case config.ModelType == "whisper", ends("ForCTC"):
		return KindTranscriber, nil
	case ends("ForCausalLM", "LMHeadModel"), config.ModelType == "gemma3": // whose text alone is computed
		return KindGenerator, nil
	case ends("ForConditionalGeneration", "MTModel"):
		return KindTranslator, nil
	case slices.Contains([]string{"vit", "dinov2", "clip", "clip_vision_model", "siglip", "siglip_vision_model", "siglip2", "siglip2_vision_model"}, config.ModelType):
		return KindImageEmbedder, nil
	}
	return KindEmbedder, nil
}

// ggufKind is the kind of a GGUF file.
func ggufKind(g folder.GGUF) (Kind, error) {
	f, err := gguf.Open(g.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	arch, err := f.Text("general.architecture")
	if err != nil {
		return "", err
	}
	pooling, err := f.Int(arch + ".pooling_type")
	switch {
	case err == nil && pooling != 0:
		return KindEmbedder, nil
	case arch == "t5":
		return KindTranslator, nil
	}
	return KindGenerator, nil
}

// embedding are the modules of sentence-transformers that only folders of an Embedder have.
var embedding = []string{"Pooling", "StaticEmbedding", "SpladePooling", "MultiVectorMask"}

// embedsSentences is whether modules.json describes an embedder, not a cross-encoder.
func embedsSentences(fsys fs.FS) (bool, error) {
	data, err := regular.ReadFile(fsys, "modules.json")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, folder.Errorf("%w", err)
	}
	var modules []struct {
		Type string `json:"type"`
	}
	if err := pyjson.Unmarshal(data, &modules); err != nil {
		return false, folder.Errorf("modules.json: %w", err)
	}
	for _, m := range modules {
		if slices.Contains(embedding, m.Type[strings.LastIndex(m.Type, ".")+1:]) || strings.HasPrefix(m.Type, "pylate.") {
			return true, nil
		}
	}
	return false, nil
}
