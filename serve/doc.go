// Package serve serves the pipelines of package text over HTTP. It is one handler, which a Go
// service mounts, or which the command avoformer serve runs.
//
//	s, err := serve.New([]serve.Model{{Dir: "all-MiniLM-L6-v2"}}, serve.Options{})
//	http.ListenAndServe("127.0.0.1:8080", s)
//
// It speaks the protocols that clients have: OpenAI's, Anthropic's, text-embeddings-inference's,
// Ollama's, Cohere's and Hugging Face's. Concurrent requests share a model's batches. Requests that
// the queue has no room for are refused at once.
//
// This package is settling: see doc/stability.md.
package serve
