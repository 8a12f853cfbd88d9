// Package transformer runs transformer models: encoders, decoders and
// encoder-decoders, from the layers of the original paper to those of today's
// language models. It does inference, plus the gradients of attention maps that
// interpretability asks for.
//
// # Shapes
//
// An activation is a []float32 of rows x width. The rows of all sequences of a
// batch are stacked, and a [Batch] says which rows belong to which sequence, so
// a batch of sequences of different lengths contains no padding and costs no
// more than its real tokens. A comment [B, L, D] describes the special case of
// B sequences of the same length L.
//
// What a function writes to comes before what it reads, and must not overlap it unless
// its comment says that it may.
//
// # Building models
//
// Each layer is a small struct with its configuration, its weights and a
// Forward method, made by a constructor that takes the weights by the names
// that PyTorch, Hugging Face, timm or d2l give them: see [AttentionNames] and
// [LayerNames]. There is one attention ([MultiHeadAttention]), one feed-forward
// network ([FeedForward]), one normalization ([Norm]) and one layer ([Layer]);
// the models ([Transformer], [Seq2Seq], [BERT], [ViT], [LanguageModel]) are
// compositions of them that differ in configuration.
//
// # Goroutines
//
// Models are immutable once made and may be shared by goroutines. What changes
// during a pass lives in a [Workspace], of which every goroutine needs its own,
// and in a [Cache], of which every conversation needs its own.
//
// # Errors
//
// Constructors and passes return errors that match [ErrConfig], [ErrShape],
// [ErrToken], [ErrTooLong], [ErrMissing], [ErrMisshapen] or [ErrLeftOver] with
// errors.Is, and constructors those of reading the weights. What a destination holds
// after an error is undefined.
package transformer
