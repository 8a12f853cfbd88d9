package workload

import (
	"maps"
	"math"
	"testing"
)

func TestParse(t *testing.T) {
	for _, s := range []string{"", "gemm_nn", "gemm_nn 1x2", "gemm_nn 1x2x0", "gemm_nn 1x2xa", "nothing 1x2"} {
		if c, err := Parse(s); err == nil {
			t.Errorf("Parse(%q) = %v", s, c)
		}
	}
	if c := MustParse("gemm_nn 2x3x4"); c.FLOPs() != 48 || c.Bytes() != 4*(8+12+6) || c.Rate(48e-9) != 1 {
		t.Errorf("gemm_nn 2x3x4: %g FLOP, %g bytes", c.FLOPs(), c.Bytes())
	}
	if c := MustParse("gemm_packed_int8 2x3x4"); !c.Int8 || c.Op != GemmPacked || c.String() != "gemm_packed_int8 2x3x4" {
		t.Errorf("gemm_packed_int8 2x3x4: %+v", c)
	}
	if c, err := Parse("softmax_int8 2x3"); err == nil {
		t.Errorf("softmax_int8 2x3: %+v", c)
	}
	if c := MustParse("softmax 10x100"); c.Rate(8e-6) != 1 {
		t.Errorf("softmax 10x100 in 8 µs: %g GB/s, want 1", c.Rate(8e-6))
	}
}

// TestCheckSeesEveryElement: the check of every operation accepts the oracle's own values, and
// refuses a change of each element.
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
					t.Fatalf("an error of 0.01 in element %d is not noticed", i)
				}
				out[i] = kept
			}
		})
	}
}

// TestCheckInt8: the check of products of int8 accepts results with the rounding to int8, and
// refuses each element if it is off by one and a half times the root mean square of all
// elements.
func TestCheckInt8(t *testing.T) {
	d := NewData(MustParse("gemm_packed_int8 3x40x256"))
	out := make([]float32, d.OutputLen())
	round := func(x float32) float64 { return math.Round(float64(x)*2*63) / (2 * 63) }
	size := 0.0
	for i := range 3 {
		for j := range 40 {
			var sum float64
			for p := range 256 {
				sum += round(d.In[0][i*256+p]) * round(d.In[1][p*40+j])
			}
			out[i*40+j] = float32(sum)
			size += sum * sum / 120
		}
	}
	if err := d.Check(out); err != nil {
		t.Fatal(err)
	}
	if e := d.Error(out); e < 1e-3 || e > 0.1 {
		t.Errorf("error %g of 7 bits", e)
	}
	for i := range out {
		kept := out[i]
		out[i] += float32(1.5 * math.Sqrt(size))
		if d.Check(out) == nil {
			t.Fatalf("element %d: an error of %g is not noticed", i, 1.5*math.Sqrt(size))
		}
		out[i] = kept
	}
}

// TestRandom: the random shapes are the same on every machine and in every release, and there is
// the promised number of each kind.
func TestRandom(t *testing.T) {
	kinds := map[string]int{}
	for _, c := range Random {
		if _, err := Parse(c.String()); err != nil {
			t.Error(err)
		}
		switch {
		case dimsOf[c.Op] == 3:
			kinds["product"]++
			if c.Dims[0] > 2048 || c.Dims[1] < 16 || c.Dims[1] > 4096 || c.Dims[2] < 16 || c.Dims[2] > 4096 {
				t.Errorf("%v is out of range", c)
			}
		case dimsOf[c.Op] == 4:
			kinds["batched"]++
		case dimsOf[c.Op] == 2:
			kinds["rows"]++
		default:
			kinds[string(c.Op)]++
		}
	}
	if want := (map[string]int{"product": 20, "batched": 4, "rows": 8, "sdpa": 4, "encoder_layer": 4}); !maps.Equal(kinds, want) {
		t.Errorf("drew %v, want %v", kinds, want)
	}
	// Shapes are spread evenly over the logarithm: about half of the values of m are below the
	// geometric mean of 1 and 2048.
	low := 0
	for _, c := range draw(2)[:20] {
		if c.Dims[0] < 45 {
			low++
		}
	}
	if low < 4 || low > 16 {
		t.Errorf("%d of 20 are below 45 rows", low)
	}
	if got := Random[0].String(); got != "gemm_nn 6x257x21" || Random[39].String() != "encoder_layer 2x138x240x3x960" {
		t.Errorf("other shapes than those of earlier reports: %v ... %v", got, Random[39])
	}
}
