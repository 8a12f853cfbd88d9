package simd

import (
	"fmt"
	"os"
	"strings"
)

// Features is a set of instruction-set extensions that processors of a tier may or may not
// have. Unlike tiers they do not form a chain: an implementation of a kernel names those
// that it needs.
type Features uint32

// The features. Configurations turns off the last one first, so each feature comes after
// those that the implementations to fall back on need.
const (
	AVX512VNNI      Features = 1 << iota // amd64: dot products of int8, in EVEX encoding
	F16C                                 // amd64: conversion of float16, in VEX encoding
	AVXVNNI                              // amd64: dot products of int8, in VEX encoding
	DotProd                              // arm64: dot products of int8
	I8MM                                 // arm64: products of int8 matrices
	AVX512VPOPCNTDQ                      // amd64: counts of bits
	AMX                                  // amd64: tiles, and products of int8 and bfloat16 in them
)

var featureNames = [...]string{"avx512vnni", "f16c", "avxvnni", "dotprod", "i8mm", "avx512vpopcntdq", "amx"}

// names lists the features of the set.
func (f Features) names() (names []string) {
	for i, n := range featureNames {
		if f>>i&1 != 0 {
			names = append(names, n)
		}
	}
	return names
}

// features are those in use: what the machine has, except for what AVOFORMER_CPU turns off.
var features = orStop(chooseFeatures(machineFeatures(), os.Getenv("AVOFORMER_CPU")))

// orStop is a value that the environment decides. What cannot be met stops the program in a line: at
// this time nobody could recover from a panic, whose stack would tell nothing.
func orStop[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return value
}

// chooseFeatures is the machine's set without those that off names, such as
// "-avx512vnni,-i8mm". Those that the machine lacks may be turned off too; an unknown
// name is an error, since it would silently turn off nothing.
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
