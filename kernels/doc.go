// Package kernels has the kernels in which transformers spend their time, for one CPU: matrix
// products, softmax, normalisation, activations and attention. Operands and results are float32.
// Weights, and the keys and values of a cache, may be held in fewer bits (see [Format]): products
// with 16-bit formats widen them, and products with int8 and with GGUF's blocks multiply integers.
//
// # Conventions
//
// Matrices are plain slices, row-major; a leading dimension is the distance in elements between the
// starts of two rows. The destination comes first; otherwise the order and the names are those of
// BLAS. Lengths are checked before anything is written: a wrong length is a programming error, and
// the panic names the function, the argument, its value and the expected value. Unless its comment
// says otherwise, a kernel may write to the slice that it reads, but not to one that overlaps it
// partly.
//
// Functions of many arguments take a parameter struct. The zero value of an optional field is the
// common choice, which the field's comment names: a Scale of 0 means the operation's usual scale.
// Alpha and beta are not optional: as in BLAS, 0 is 0.
//
// # Tiers
//
// Almost every kernel exists for each [ISA]: AVX-512 and AVX2 on amd64, NEON on arm64, and pure Go
// everywhere. The best tier that the processor and the operating system offer is chosen when the
// program starts; [Active] returns it. The environment variable AVOFORMER_ISA (generic, neon, avx2,
// avx512) forces one, and stops the program if the machine lacks it. Some kernels have faster
// variants for features beyond a tier; AVOFORMER_CPU turns features off by name, for example
// -f16c,-avxvnni. Building with the tag purego leaves all assembly out.
//
// # Threads
//
// The functions run on the calling goroutine. Each function that computes is also a method of
// [Threads], with the same parameters, which runs it on several threads:
// kernels.Threads(4).Gemm(…). The function is the method of Threads(1). Results have the same bits
// for any number of threads, from run to run, and on every tier, except for products in
// [FormatBF16Fast].
//
// # Accuracy
//
// The comment of each kernel and doc/numerics.md state its error bound and its results for NaN,
// infinities and denormals. Tests assert both.
//
// This package is stable: see doc/stability.md.
package kernels
