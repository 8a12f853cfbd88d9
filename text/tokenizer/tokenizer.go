// Package tokenizer turns text into the ids of a Hugging Face tokenizer.
package tokenizer

import "golang.org/x/text/unicode/norm"

var _ = norm.NFC
