// Package transformer has the layers of transformer models, as in the papers: attention,
// feed-forward networks, normalizations, embeddings, positions and masks, a layer and a stack of
// them, the cache of decoding, and the loader that takes their weights from a checkpoint. It does
// inference. Whole models are in package models.
//
// # Shapes
//
// An activation is a []float32 of rows x width. The rows of all sequences of a batch are stacked,
// and a [Batch] says which rows belong to which sequence, so a batch of sequences of different
// lengths contains no padding and costs no more than its real tokens. A comment [B, L, D] describes
// the special case of B sequences of the same length L.
//
// Forward takes the workspace first, then the destination, then the operands, and last the cache
// where there is one. The destination must not overlap an operand, unless the comment allows it.
//
// # Building models
//
// Each layer is a small struct with its configuration, its weights and a Forward method. A [Loader]
// makes a layer from the weights under a prefix, with the names of the checkpoint's ecosystem
// ([AttentionNames], [LayerNames]), and notes which weights are missing or left over. The
// constructors are for single layers. A layer made in any other way gives an error. Linear layers
// hold their weights in packed form only.
//
// # Goroutines
//
// Layers are immutable once made and may be shared by goroutines. State that changes during a pass
// is in a [Workspace], one for each goroutine, and in a [Cache], one for each conversation.
//
// # Errors
//
// Constructors and passes return errors that match [fault.ErrConfig], [fault.ErrShape],
// [fault.ErrToken], [fault.ErrTooLong], [fault.ErrMissing], [fault.ErrMisshapen] or
// [fault.ErrLeftOver] with errors.Is; constructors also return the errors of reading the weights.
// After an error the contents of a destination are undefined.
//
// This package is settling: see doc/stability.md.
package transformer
