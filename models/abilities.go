package models

import (
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/sentence"
)

// What parts of a model may be able to do in addition to their interfaces. A part has an ability if
// it has the methods, whichever module its architecture comes from. Where an option needs an
// ability that a part lacks, opening the model is an error that names the option.

// A CacheFormatter is a [LanguageModel] that holds the keys and values of histories in the format
// of [Options].CacheFormat. [Open] calls SetCacheFormat once, before NewPages. The format is
// float32, 16 bits or int8.
type CacheFormatter interface{ SetCacheFormat(f kernels.Format) }

// A HistorySizer is a [LanguageModel] that knows the memory of histories, for [Footprint].
type HistorySizer interface {
	// HistoryBytes returns the memory of histories in the format of caches, for texts of a length
	// in tokens; 0: no limit.
	HistoryBytes(length int) HistoryBytes
}

// HistoryBytes is the memory of histories: of each text whatever its length, each token, a text of
// a length, and each row of a [Memory].
type HistoryBytes = block.HistoryBytes

// An AdapterHolder is a [LanguageModel] that applies adapters with names, which stay beside its
// weights, to the texts that ask for them: its passes call [transformer.Workspace.Adapt] with the
// number of adapters.
type AdapterHolder interface {
	// HoldAdapters is called once, with the names of adapters 1, 2, ...
	HoldAdapters(names []string)
	// Adapter returns the number of the adapter with a name, for [transformer.History.Adapt], and
	// false if there is none.
	Adapter(name string) (number int, ok bool)
}

// A MultiTokenPredictor is a [LanguageModel] with layers that predict further tokens, which
// [Options].MTP opens. Predictor returns nil if it was opened without them.
type MultiTokenPredictor interface{ Predictor() *Predictor }

// A Predictor predicts the token after the next one, from the hidden state of a token and the next
// token. Its own hidden states serve as those of the next prediction. See the methods NewPages,
// Predict and Logits.
type Predictor = block.Predictor

// A MemoryReader is a [LanguageModel] that may attend to a [Memory]. Without the method, a model
// takes a Memory or none.
type MemoryReader interface{ AttendsToMemory() bool }

// A CrossWeigher is a [LanguageModel] that returns the weights with which it attends to a [Memory],
// from which the times of words are computed.
type CrossWeigher interface {
	// CrossWeights returns the weights with which heads of cross-attention attend to the memory of
	// one sequence, at each of the tokens that are its text: [heads, tokens, rows of memory]. A
	// head that the model does not have is an error that matches fault.ErrConfig.
	CrossWeights(ws *Workspace, heads []CrossHead, tokens []int, memory *Memory) ([]float32, error)
}

// A CrossHead is a head of the cross-attention of a layer.
type CrossHead = block.CrossHead

// A HistoryRewriter is a [LanguageModel] whose keys and values of earlier tokens may change with
// the length of the sequence, so that the first rows of a history are not those of a shorter text.
type HistoryRewriter interface{ RewritesHistory() bool }

// A WholeReader is a [SoftReader] whose rows of a [Soft] may see those after them in the same Soft:
// then a pass has each Soft as a whole, and those of a pass are in the order of their places.
type WholeReader interface{ ReadsWhole() bool }

// A CausalTeller is an [Encoder] that says whether all tokens of a text see each other, those after
// them too.
type CausalTeller interface{ BothWays() bool }

// Abilities of an [Encoder] that the files of sentence-transformers need.
type (
	// A PositionLimiter has a number of positions, which no text exceeds; 0: any length.
	PositionLimiter = sentence.PositionLimiter
	// A RestHider reads [Tokens].Visible, which hides some tokens of a text from the others.
	RestHider = sentence.RestHider
)

// A Strider is an [AudioEncoder] whose hidden states each stand for the same number of samples, for
// times of what was said.
type Strider interface{ Stride() int }

// A RowLimiter is an [AudioEncoder] of sound with at most MaxRows hidden states.
type RowLimiter interface{ MaxRows() int }

// attends reports whether m.LM attends to a memory.
func (m *Model) attends() bool {
	r, ok := m.LM.(MemoryReader)
	return ok && r.AttendsToMemory()
}

// setCacheFormat makes m.LM hold keys and values in a format.
func (m *Model) setCacheFormat(f kernels.Format) error {
	if m.LM == nil {
		return nil
	}
	if lm, ok := m.LM.(CacheFormatter); ok {
		lm.SetCacheFormat(f)
	} else if f != kernels.FormatF32 {
		return check.Option("CacheFormat", f, "not supported for %s, whose caches have one format", m.Config.ModelType)
	}
	return nil
}

// holdAdapters gives m.LM the names of the adapters that stay beside its weights.
func (m *Model) holdAdapters(names []string) error {
	if len(names) == 0 {
		return nil
	}
	lm, ok := m.LM.(AdapterHolder)
	if !ok || !m.Serves(UseText) || m.attends() {
		return check.Option("Name", names[0], "adapters with a name are supported only for decoders, not for %s", m.Config.ModelType)
	}
	lm.HoldAdapters(names)
	m.Adapters = names
	return nil
}

// histories returns the memory of m.LM's histories, and a warning if it is not known.
func (m *Model) histories() (b HistoryBytes, warnings []string) {
	switch lm := m.LM.(type) {
	case nil:
	case HistorySizer:
		b = lm.HistoryBytes(m.Config.MaxLength)
	default:
		warnings = []string{"the footprint lacks keys and values of texts: " + m.Config.ModelType + " does not say how many bytes they take"}
	}
	return b, warnings
}
