// Package serve serves the pipelines of package text over HTTP. A Server is an http.Handler, which
// a Go service can mount and the command avoformer serve runs.
//
//	s, err := serve.New([]serve.Model{{Dir: "all-MiniLM-L6-v2"}}, serve.Options{})
//	http.ListenAndServe("127.0.0.1:8080", s)
//
// It implements the protocols of common clients: OpenAI's, Anthropic's,
// text-embeddings-inference's, Ollama's, Cohere's and Hugging Face's. Concurrent requests share a
// model's batches. If the queue is full, requests are refused at once.
//
// This package is settling: see doc/stability.md.
package serve
