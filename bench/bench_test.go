package bench

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/bench/internal/gopeer"
	"github.com/avoformer/avoformer/bench/internal/interleave"
	"github.com/avoformer/avoformer/bench/internal/lineup"
	"github.com/avoformer/avoformer/bench/internal/native"
	"github.com/avoformer/avoformer/bench/internal/ours"
	"github.com/avoformer/avoformer/bench/internal/peak"
	"github.com/avoformer/avoformer/bench/internal/workload"
	"github.com/avoformer/avoformer/kernels"
)

var (
	casesFlag   = flag.String("cases", "", `comma-separated cases ("gemm_nn 128x768x768") or parts of their names, or "all"; one of each kind when empty`)
	threadsFlag = flag.String("threads", "", "comma-separated thread counts; 1 and the number of CPUs when empty")
	isaFlag     = flag.String("isa", "", "comma-separated tiers of this library; all of the machine when empty")
	goPeersFlag = flag.Bool("go-peers", true, "benchmark other Go libraries, too")
	peersFlag   = flag.Bool("peers", false, "benchmark native libraries, too")
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	for _, p := range natives {
		for _, q := range p {
			q.Close()
		}
	}
	os.Exit(code)
}

func cases(b *testing.B, ops ...workload.Op) []workload.Case {
	list := workload.Quick
	switch *casesFlag {
	case "":
		list = append(list[:len(list):len(list)], workload.Small...)
	case "all":
		list = workload.All
	default:
		var err error
		if list, err = workload.Select(workload.All, *casesFlag); err != nil {
			b.Fatal(err)
		}
	}
	var out []workload.Case
	for _, c := range list {
		for _, op := range ops {
			if c.Op == op {
				out = append(out, c)
			}
		}
	}
	return out
}

var (
	peaks   = map[int]peak.Machine{}
	natives = map[int][]*native.Peer{}
)

// machine measures the peaks once for each number of threads, and prints them in a line that
// benchstat ignores.
func machine(threads int) peak.Machine {
	m, ok := peaks[threads]
	if !ok {
		m = peak.Measure(threads, 0.5)
		peaks[threads] = m
		fmt.Printf("# peaks at %v\n", m)
	}
	return m
}

func nativePeers(b *testing.B, threads int) []*native.Peer {
	if !*peersFlag {
		return nil
	}
	list, ok := natives[threads]
	if !ok {
		var missing []string
		list, missing = native.StartAll(threads, native.Options{Say: b.Logf})
		natives[threads] = list
		if len(missing) > 0 {
			fmt.Printf("# incomplete: without %s\n", strings.Join(missing, ", "))
		}
	}
	return list
}

func goPeers(threads int) []workload.Contestant {
	if !*goPeersFlag {
		return nil
	}
	return gopeer.All(threads)
}

func run(b *testing.B, ops ...workload.Op) {
	list := cases(b, ops...)
	if len(list) == 0 {
		b.Skip("no case selected")
	}
	counts, err := lineup.Threads(*threadsFlag)
	if err != nil {
		b.Fatal("-threads: ", err)
	}
	tiers, err := lineup.Tiers(*isaFlag)
	if err != nil {
		b.Fatal("-isa: ", err)
	}
	for _, c := range list {
		b.Run("shape="+c.Shape()+trans(c.Op), func(b *testing.B) {
			data := sync.OnceValue(func() *workload.Data { return workload.NewData(c) })
			mem := "/mem=" + peak.Warmth(c.WorkingSet(), peak.LastCache())
			for _, threads := range counts {
				suffix := fmt.Sprintf("/threads=%d%s", threads, mem)
				for _, isa := range tiers {
					one(b, "isa="+isa.String()+suffix, data, ours.Tier{ISA: isa, Threads: threads}, threads, isa.String())
				}
				for _, p := range goPeers(threads) {
					one(b, "peer="+p.Name()+suffix, data, p, threads, "")
				}
				for _, p := range nativePeers(b, threads) {
					one(b, "peer="+p.Name()+suffix, data, p, threads, "")
				}
			}
		})
	}
}

// trans returns the part of a name that distinguishes a product's transposes.
func trans(op workload.Op) string {
	switch op {
	case workload.GemmNN, workload.BatchGemmNN:
		return "/trans=nn"
	case workload.GemmNT, workload.BatchGemmNT:
		return "/trans=nt"
	}
	return ""
}

// one benchmarks a contestant, or skips a case that it does not offer. Its result is checked first.
func one(b *testing.B, name string, data func() *workload.Data, c workload.Contestant, threads int, isa string) {
	b.Run(name, func(b *testing.B) {
		d := data()
		variants := c.Variants(d.Case)
		if len(variants) == 0 {
			b.Skip(workload.ErrUnsupported)
		}
		job, err := c.Open(d, variants[0])
		if errors.Is(err, workload.ErrUnsupported) {
			b.Skip(err)
		}
		if err != nil {
			b.Fatal(err)
		}
		defer job.Close()
		limit := machine(threads).Of(d.Case, isa)
		if err := measure(b, d, job, limit); err != nil {
			b.Fatal(err)
		}
	})
}

// measure times a job whose result is right.
func measure(b *testing.B, d *workload.Data, job workload.Job, limit float64) error {
	out, err := job.Output()
	if err != nil {
		return err
	}
	if err := d.Check(out); err != nil {
		return fmt.Errorf("wrong result, not timed: %w", err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	took, err := job.Time(b.N)
	if err != nil {
		return err
	}
	perCall := took.Seconds() / float64(b.N)
	b.ReportMetric(perCall*1e9, "ns/op")
	b.ReportMetric(d.Rate(perCall), d.Metric().Unit())
	b.ReportMetric(100*d.Rate(perCall)/limit, "%peak")
	return nil
}

func BenchmarkGemm(b *testing.B)            { run(b, workload.GemmNN, workload.GemmNT) }
func BenchmarkGemmPacked(b *testing.B)      { run(b, workload.GemmPacked) }
func BenchmarkLinearBiasGELU(b *testing.B)  { run(b, workload.LinearBiasGELU) }
func BenchmarkBatchGemm(b *testing.B)       { run(b, workload.BatchGemmNN, workload.BatchGemmNT) }
func BenchmarkSoftmax(b *testing.B)         { run(b, workload.Softmax) }
func BenchmarkLogSoftmax(b *testing.B)      { run(b, workload.LogSoftmax) }
func BenchmarkLayerNorm(b *testing.B)       { run(b, workload.LayerNorm) }
func BenchmarkRMSNorm(b *testing.B)         { run(b, workload.RMSNorm) }
func BenchmarkAddLayerNorm(b *testing.B)    { run(b, workload.AddLayerNorm) }
func BenchmarkGELU(b *testing.B)            { run(b, workload.GELU) }
func BenchmarkGELUTanh(b *testing.B)        { run(b, workload.GELUTanh) }
func BenchmarkExp(b *testing.B)             { run(b, workload.Exp) }
func BenchmarkSiLU(b *testing.B)            { run(b, workload.SiLU) }
func BenchmarkReLU(b *testing.B)            { run(b, workload.ReLU) }
func BenchmarkTanh(b *testing.B)            { run(b, workload.Tanh) }
func BenchmarkSigmoid(b *testing.B)         { run(b, workload.Sigmoid) }
func BenchmarkErf(b *testing.B)             { run(b, workload.Erf) }
func BenchmarkAdd(b *testing.B)             { run(b, workload.Add) }
func BenchmarkMul(b *testing.B)             { run(b, workload.Mul) }
func BenchmarkAttention(b *testing.B)       { run(b, workload.SDPA) }
func BenchmarkAttentionDecode(b *testing.B) { run(b, workload.SDPADecode) }
func BenchmarkSelfAttention(b *testing.B)   { run(b, workload.SelfAttention) }
func BenchmarkFeedForward(b *testing.B)     { run(b, workload.FeedForward) }
func BenchmarkDecoderLayer(b *testing.B)    { run(b, workload.DecoderLayer) }
func BenchmarkEncoderLayer(b *testing.B)    { run(b, workload.EncoderLayer) }

// wrong is a contestant whose last element is off by one part in a thousand.
type wrong struct{ workload.Contestant }

func (w wrong) Open(d *workload.Data, variant string) (workload.Job, error) {
	job, err := w.Contestant.Open(d, variant)
	return wrongJob{job}, err
}

type wrongJob struct{ workload.Job }

func (j wrongJob) Output() ([]float32, error) {
	out, err := j.Job.Output()
	out = append([]float32{}, out...)
	out[len(out)-1] *= 1.001
	return out, err
}

// TestWrongResultIsRefused: a wrong kernel is not timed, neither here nor in the interleaved
// comparison.
func TestWrongResultIsRefused(t *testing.T) {
	// testing.Benchmark below takes its duration from the flag.
	const benchtime = "test.benchtime"
	kept := flag.Lookup(benchtime).Value.String()
	flag.Set(benchtime, "1x")
	defer flag.Set(benchtime, kept)
	for _, name := range []string{"gemm_nn 33x65x17", "gemm_packed 10x64x64", "linear_bias_gelu 10x64x64", "bgemm_nt 2x8x9x7",
		"softmax 5x33", "layernorm 5x33", "gelu_erf 5x33", "exp 5x33"} {
		t.Run(name, func(t *testing.T) {
			d := workload.NewData(workload.MustParse(name))
			tier := ours.Tier{ISA: kernels.Active(), Threads: 1}
			for _, c := range []workload.Contestant{tier, wrong{tier}} {
				r := interleave.Run(d, []workload.Contestant{c}, interleave.Options{Rounds: 1})
				if len(r) != 1 {
					t.Fatalf("%d results", len(r))
				}
				_, isWrong := c.(wrong)
				if refused := r[0].Refused != nil; refused != isWrong {
					t.Errorf("wrong: %t, refused: %v", isWrong, r[0].Refused)
				}
				if timed := len(r[0].Seconds) > 0; timed == isWrong {
					t.Errorf("wrong: %t, timed: %t", isWrong, timed)
				}
				job, err := c.Open(d, "")
				if err != nil {
					t.Fatal(err)
				}
				result := testing.Benchmark(func(b *testing.B) {
					if err := measure(b, d, job, 1); err != nil {
						b.Skip(err)
					}
				})
				if timed := result.N > 0 && result.Extra[d.Metric().Unit()] > 0; timed == isWrong {
					t.Errorf("wrong: %t, benchmark reported %v", isWrong, result)
				}
			}
		})
	}
}
