// Package bench has the benchmarks of avoformer and of other libraries; doc/performance.md says how
// to read them. In this folder:
//
//	go test -bench .                                  one case of each kind, every tier of the machine
//	go test -bench Gemm -cases all                    every shape
//	go test -bench Softmax -peers                     with native libraries, where they are installed
//	go run ./cmd/compare -cases "gemm_nn 128x768x768" the same case by all, taking turns
//	go run ./cmd/report                               tables and plots
//
// Names have the parts shape, trans, isa (a tier of this library) or peer (another library),
// threads and mem. mem says where the operands are while the benchmark repeats the call: warm (in a
// core's caches), shared (in a shared cache) or cold (in memory). With these names
//
//	benchstat -col /isa new.txt
//	benchstat -filter /isa:avx512 -col /threads new.txt
//
// print tables. If a result differs from that of the float64 oracle, the benchmark fails and is not
// timed.
package bench
