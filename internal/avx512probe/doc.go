// Package avx512probe examines the CPU, or its emulation, on which the AVX-512
// kernels are tested. Only its tests use its few lines of assembly:
// a canary, wrong on purpose, shows that tests find a wrong kernel there, and
// masked loads and stores show what the kernels assume of the ends of pages.
package avx512probe
