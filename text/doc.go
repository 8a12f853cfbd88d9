// Package text takes text to an answer: tokenizers here, models and kernels in
// the root module.
package text
