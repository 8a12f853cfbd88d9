package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/avoformer/avoformer/serve"
)

// A server is a handler: here of one model, asked as OpenAI's clients ask.
func ExampleNew() {
	dir := "../text/examples/models/embed"
	s, err := serve.New([]serve.Model{{Dir: dir}}, serve.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Wait(context.Background()); err != nil { // until the model is open
		log.Fatal(err)
	}
	h := httptest.NewServer(s) // http.ListenAndServe(":8080", s)
	defer h.Close()

	r, err := http.Post(h.URL+"/v1/embeddings", "application/json", strings.NewReader(`{"model": "`+serve.NameOf(dir)+`", "input": ["bread", "trains"]}`))
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	var answer struct {
		Data []struct{ Embedding []float32 }
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.StatusCode, len(answer.Data), "vectors of", len(answer.Data[0].Embedding))
	// Output: 200 2 vectors of 64
}

// A model in the hub's cache has a short name too.
func ExampleAliasesOf() {
	dir := "/home/me/.cache/huggingface/hub/models--BAAI--bge-small-en-v1.5/snapshots/5c38ec7c405ec4b44b94cc5a9bb96e735b38267a"
	fmt.Println(serve.NameOf(dir), serve.AliasesOf(dir))
	// Output: BAAI/bge-small-en-v1.5 [bge-small-en-v1.5]
}

// A certificate is read again when its files have changed, while connections go on.
func ExampleLoadCertificate() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	certificate, key := selfSigned(dir)
	c, err := serve.LoadCertificate(certificate, key)
	if err != nil {
		log.Fatal(err)
	}
	server := http.Server{TLSConfig: c.Config()} // or serve.ServeOptions{TLS: c.Config()}
	fmt.Println(server.TLSConfig.GetCertificate != nil, c.Reload())
	// Output: true <nil>
}

// selfSigned writes a certificate and its key.
func selfSigned(dir string) (certificate, key string) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		log.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		log.Fatal(err)
	}
	certificate, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	return certificate, key
}
