// Package transformer has the layers of transformer models, as in the papers:
// attention, feed-forward networks, normalizations, embeddings, positions and
// masks, a layer and a stack of them, the cache of decoding, and the loader that
// takes their weights from a checkpoint. It does inference. Whole models are in package
// models.
//
// # Shapes
//
// An activation is a []float32 of rows x width. The rows of all sequences of a
// batch are stacked, and a [Batch] says which rows belong to which sequence, so
// a batch of sequences of different lengths contains no padding and costs no
// more than its real tokens. A comment [B, L, D] describes the special case of
// B sequences of the same length L.
//
// Forward takes the workspace first, then what it writes to, then what it reads,
// and last the cache where there is one. What is written to must not overlap what is
// read unless the comment says that it may.
//
// # Building models
//
// Each layer is a small struct with its configuration, its weights and a
// Forward method. A [Loader] makes it of the weights under a prefix, by the names
// that the checkpoint's ecosystem has for them ([AttentionNames], [LayerNames]), and
// keeps account of what is missing or left over; the constructors are for layers on
// their own. A layer that neither has made gives an error. Linear layers hold their
// weights in packed form only.
//
// # Goroutines
//
// Layers are immutable once made and may be shared by goroutines. What changes
// during a pass lives in a [Workspace], of which every goroutine needs its own,
// and in a [Cache], of which every conversation needs its own.
//
// # Errors
//
// Constructors and passes return errors that match [fault.ErrConfig], [fault.ErrShape],
// [fault.ErrToken], [fault.ErrTooLong], [fault.ErrMissing], [fault.ErrMisshapen] or [fault.ErrLeftOver] with
// errors.Is, and constructors those of reading the weights. What a destination holds
// after an error is undefined.
package transformer
