package simd

import (
	"fmt"
	"os"
	"strings"
)

// Features is a set of instruction-set extensions that not all processors of a tier have. Features
// do not form a chain, as tiers do: each implementation of a kernel names the features that it
// needs.
type Features uint32

// These are the features. Configurations turns them off from the last to the first, so a feature
// comes after all features that its fallbacks need.
const (
	AVX512VNNI      Features = 1 << iota // amd64: dot products of int8, in EVEX encoding
	F16C                                 // amd64: conversion of float16, in VEX encoding
	AVXVNNI                              // amd64: dot products of int8, in VEX encoding
	DotProd                              // arm64: dot products of int8
	I8MM                                 // arm64: products of int8 matrices
	AVX512VPOPCNTDQ                      // amd64: counts of bits
	AVX512BF16                           // amd64: products of pairs of bfloat16
	AMX                                  // amd64: tiles, and products of int8 and bfloat16 in them
)

var featureNames = [...]string{"avx512vnni", "f16c", "avxvnni", "dotprod", "i8mm", "avx512vpopcntdq", "avx512bf16", "amx"}

// names lists the features of the set.
func (f Features) names() (names []string) {
	for i, n := range featureNames {
		if f>>i&1 != 0 {
			names = append(names, n)
		}
	}
	return names
}

// features are the features in use: those of the machine, except those that AVOFORMER_CPU turns
// off.
var features = orStop(chooseFeatures(machineFeatures(), os.Getenv("AVOFORMER_CPU")))

// orStop returns a value that the environment determines. An error stops the program with one line:
// no code could recover from a panic during initialisation, and its stack would not help.
func orStop[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return value
}

// chooseFeatures returns the machine's features without those that off lists, such as
// "-avx512vnni,-i8mm". The list may have features that the machine lacks. An unknown name is an
// error, because it would turn off no feature.
func chooseFeatures(machine Features, off string) (Features, error) {
	for _, item := range strings.FieldsFunc(off, func(r rune) bool { return r == ',' }) {
		name, ok := strings.CutPrefix(strings.TrimSpace(item), "-")
		feature := Features(0)
		for i, n := range featureNames {
			if ok && n == name {
				feature = 1 << i
			}
		}
		if feature == 0 {
			return 0, fmt.Errorf("kernels: AVOFORMER_CPU = %q: want some of -%s, separated by commas, not %q",
				off, strings.Join(featureNames[:], " -"), item)
		}
		machine &^= feature
	}
	return machine, nil
}
