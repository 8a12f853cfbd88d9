package work

import "testing"

func TestParse(t *testing.T) {
	for _, s := range []string{"", "gemm_nn", "gemm_nn 1x2", "gemm_nn 1x2x0", "gemm_nn 1x2xa", "nothing 1x2"} {
		if c, err := Parse(s); err == nil {
			t.Errorf("Parse(%q) = %v", s, c)
		}
	}
	if c := MustParse("gemm_nn 2x3x4"); c.FLOPs() != 48 || c.Bytes() != 4*(8+12+6) || c.Rate(48e-9) != 1 {
		t.Errorf("gemm_nn 2x3x4: %g FLOP, %g bytes", c.FLOPs(), c.Bytes())
	}
	if c := MustParse("softmax 10x100"); c.Rate(8e-6) != 1 {
		t.Errorf("softmax 10x100 in 8 µs: %g GB/s, want 1", c.Rate(8e-6))
	}
}

// The check of every operation takes the oracle's own values and refuses each element in turn when
// it is off.
func TestCheckSeesEveryElement(t *testing.T) {
	shapes := map[int]string{2: " 3x5", 3: " 3x5x7", 4: " 2x3x5x7"}
	for op, dims := range dimsOf {
		shape := shapes[dims]
		switch op {
		case SDPA:
			shape = " 2x3x4x5x8"
		case SDPADecode:
			shape = " 2x3x1x5x8"
		case EncoderLayer:
			shape = " 1x3x8x2x16"
		case SelfAttention:
			shape = " 1x3x8x2"
		case DecoderLayer:
			shape = " 1x3x5x8x2x16"
		}
		t.Run(string(op)+shape, func(t *testing.T) {
			d := NewData(MustParse(string(op) + shape))
			out := make([]float32, d.OutputLen())
			for i, r := range d.rows {
				for j := range d.cols {
					out[r*d.cols+j] = float32(d.want[i*d.cols+j])
				}
			}
			if err := d.Check(out); err != nil {
				t.Fatal(err)
			}
			for i := range out {
				kept := out[i]
				out[i] += 0.01 * max(1, kept, -kept)
				if d.Check(out) == nil {
					t.Fatalf("element %d off by 0.01 is not seen", i)
				}
				out[i] = kept
			}
		})
	}
}
