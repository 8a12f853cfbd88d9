// Package avx512probe examines the CPU, or its emulation, on which the AVX-512 kernels are tested.
// Only its tests use its few lines of assembly. A canary, wrong on purpose, shows that tests find a
// wrong kernel there. Masked loads and stores show that the kernels' assumptions about the ends of
// pages are right.
package avx512probe
