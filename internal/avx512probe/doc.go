// Package avx512probe examines the CPU, or its emulation, on which the AVX-512
// kernels are tested. Its few lines of assembly are used by its tests alone:
// a canary, wrong on purpose, shows that a wrong kernel is found out there, and
// masked loads and stores show what the kernels assume of the ends of pages.
package avx512probe
