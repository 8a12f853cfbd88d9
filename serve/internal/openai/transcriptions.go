// POST /v1/audio/transcriptions.

package openai

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// sampleRate is that of the sound which transcribers take, in samples a second.
const sampleRate = 16000

// form is the fields of a multipart form, each of which may be there several times.
func form(c *wire.Call) (map[string][]string, error) {
	kind, parameters, err := mime.ParseMediaType(c.R.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return nil, engine.Errorf(engine.Invalid, "Content-Type %.100q, want multipart/form-data", c.R.Header.Get("Content-Type"))
	}
	body, err := c.ReadBody()
	if err != nil {
		return nil, err
	}
	fields := map[string][]string{}
	for parts := multipart.NewReader(bytes.NewReader(body), parameters["boundary"]); ; {
		part, err := parts.NextPart()
		if err == io.EOF {
			return fields, nil
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(part)
		}
		if err != nil {
			return nil, engine.Errorf(engine.Invalid, "the body is no form: %v", err)
		}
		fields[part.FormName()] = append(fields[part.FormName()], string(data))
	}
}

// transcriptions answers POST /v1/audio/transcriptions.
func (p protocol) transcriptions(c *wire.Call) error {
	fields, err := form(c)
	if err != nil {
		return err
	}
	value := func(name string) string { return strings.Join(fields[name], "") }
	for name := range fields {
		switch name {
		case "file", "model", "language", "response_format":
		case "temperature", "stream", "prompt":
			if v := value(name); v != "" && v != "0" && v != "0.0" && v != "false" {
				return engine.Errorf(engine.Invalid, "%s %.50q is not supported here", name, v).At(name)
			}
		default:
			return engine.Errorf(engine.Invalid, "%.100q is not supported here", name).At(name)
		}
	}
	format := value("response_format")
	switch {
	case value("file") == "":
		return engine.Errorf(engine.Empty, "there is no file").At("file")
	case format != "" && format != "json" && format != "text" && format != "verbose_json":
		return engine.Errorf(engine.Invalid, "response_format %.50q, want json, text or verbose_json", format).At("response_format")
	}
	samples, err := text.ReadWAV(strings.NewReader(value("file")))
	if err != nil {
		return engine.AsError(err).At("file")
	}
	var written strings.Builder
	for piece, err := range p.engine.Transcribe(c.Context(), value("model"), samples, text.TranscribeOptions{Language: value("language")}) {
		if err != nil {
			return err
		}
		written.WriteString(piece)
	}
	out := map[string]any{"text": written.String()}
	switch format {
	case "text":
		return c.Write(http.StatusOK, "text/plain; charset=utf-8", []byte(written.String()+"\n"))
	case "verbose_json":
		out["task"], out["language"], out["duration"] = "transcribe", value("language"), float64(len(samples))/sampleRate
	}
	return c.WriteJSON(http.StatusOK, out)
}
