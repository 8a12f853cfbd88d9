package transformer

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// NormConfig describes a normalization.
type NormConfig struct {
	// Shape is the size of the last axes that are normalized together: {D} for each row on its own,
	// {L, D} for whole sequences of length L.
	Shape []int
	// Eps is added to the variance. It has no default: models differ (1e-5 in PyTorch, 1e-6 in
	// timm, 1e-12 in BERT).
	Eps float32
	// RMS chooses root mean square normalization, without mean and bias.
	RMS bool
	// NoBias leaves the bias out of layer normalization, as in ModernBERT.
	NoBias bool
	// NoWeight leaves the weight out: features are only normalized.
	NoWeight bool
}

// Norm is layer normalization, (x-mean)/sqrt(var+eps)*weight + bias with the biased variance, or
// RMS normalization, x/sqrt(mean(x²)+eps)*weight.
type Norm struct {
	NormConfig
	Weight, Bias []float32 // of Shape; Bias is nil for RMS and NoBias
	size         int
}

// NewNorm takes the weights under prefix, which ends with a dot unless it is empty: "norm." for
// norm.weight.
func NewNorm(c NormConfig, w Weights, prefix string) (*Norm, error) {
	return load(w, prefix, func(l *Loader) *Norm { return l.Norm(c) })
}

// Norm returns the normalization with the tensors weight and bias.
func (l *Loader) Norm(c NormConfig) *Norm {
	if l.Fail(c.check()) {
		return nil
	}
	return &Norm{
		NormConfig: c,
		Weight:     l.normWeight(c),
		Bias:       l.Optional(!c.RMS && !c.NoBias, "bias", c.Shape...),
		size:       check.Product(c.Shape),
	}
}

// normWeight returns the weight of a normalization: ones where the checkpoint has none, unless
// something was wrong before, such as the layer whose features are normalized.
func (l *Loader) normWeight(c NormConfig) []float32 {
	switch {
	case !c.NoWeight:
		return l.Tensor("weight", c.Shape...)
	case l.Failed():
		return nil
	}
	return slices.Repeat([]float32{1}, check.Product(c.Shape))
}

func (c NormConfig) check() error {
	if !(c.Eps > 0) {
		return check.Errorf(fault.ErrConfig, "normalization: eps = %g, want a positive number; it has no default", c.Eps)
	}
	if len(c.Shape) == 0 {
		return check.Errorf(fault.ErrConfig, "normalization: no shape")
	}
	for _, s := range c.Shape {
		if s < 1 {
			return check.Errorf(fault.ErrConfig, "normalization: shape %v", c.Shape)
		}
	}
	return nil
}

// Forward sets dst to the normalized x, both a multiple of Shape. dst may be x.
func (n *Norm) Forward(ws *Workspace, dst, x []float32) error {
	if err := n.checkMade(); err != nil {
		return err
	}
	if err := ws.check(); err != nil {
		return err
	}
	rows := len(x) / n.size
	if err := check.Len("normalization: x", x, rows*n.size, "a multiple of the shape"); err != nil {
		return err
	}
	if err := check.Len("normalization: dst", dst, len(x), "len(x)"); err != nil {
		return err
	}
	n.rows(ws.Threads, dst, x)
	return nil
}

// checkMade returns an error unless the weights fit the sizes.
func (n *Norm) checkMade() error {
	if n == nil || n.size == 0 || len(n.Weight) != n.size || n.Bias != nil && len(n.Bias) != n.size {
		return check.Errorf(fault.ErrConfig, "normalization that NewNorm did not make, or edited since")
	}
	return nil
}

// rows is Forward without its checks.
func (n *Norm) rows(t kernels.Threads, dst, x []float32) {
	rows := len(x) / n.size
	if n.RMS {
		t.RMSNorm(dst, x, rows, n.size, n.Weight, n.Eps)
	} else {
		t.LayerNorm(dst, x, rows, n.size, n.Weight, n.Bias, n.Eps)
	}
}
