// POST /v1/audio/transcriptions.

package openai

import (
	"bytes"
	"cmp"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/sound"
)

// sampleRate is the sample rate of transcribers' input, in samples per second.
const sampleRate = 16000

// form returns the fields of a multipart form. A field may occur several times.
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
			return nil, engine.Errorf(engine.Invalid, "the body is not a form: %v", err)
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
		case "file", "model", "language", "response_format", "stream", "timestamp_granularities", "timestamp_granularities[]":
		case "temperature", "prompt":
			if v := value(name); v != "" && v != "0" && v != "0.0" && v != "false" {
				return engine.Errorf(engine.Invalid, "%s %.50q is not supported here", name, v).At(name)
			}
		default:
			return engine.Errorf(engine.Invalid, "%.100q is not supported here", name).At(name)
		}
	}
	format := cmp.Or(value("response_format"), "json")
	granularities := append(fields["timestamp_granularities"], fields["timestamp_granularities[]"]...)
	stream := value("stream") == "true" || value("stream") == "True" || value("stream") == "1"
	switch v := value("stream"); {
	case !stream && v != "" && v != "false" && v != "False" && v != "0":
		return engine.Errorf(engine.Invalid, "stream %.50q, want true or false", v).At("stream")
	case stream && format != "json" && format != "text":
		return engine.Errorf(engine.Invalid, "stream is for response_format json and text, not for %.50q", format).At("stream")
	case value("file") == "":
		return engine.Errorf(engine.Empty, "there is no file").At("file")
	case !slices.Contains([]string{"json", "text", "verbose_json", "srt", "vtt"}, format):
		return engine.Errorf(engine.Invalid, "response_format %.50q, want json, text, verbose_json, srt or vtt", format).At("response_format")
	case len(granularities) > 0 && format != "verbose_json":
		return engine.Errorf(engine.Invalid, "timestamp_granularities are for response_format verbose_json").At("timestamp_granularities")
	}
	for _, g := range granularities {
		if g != "segment" && g != "word" {
			return engine.Errorf(engine.Invalid, "timestamp_granularities %.50q, want segment or word", g).At("timestamp_granularities")
		}
	}
	samples, err := sound.Read(c.Context(), strings.NewReader(value("file")), sound.Options{Memory: p.engine.Memory().Sound, Grow: c.Grow})
	if err != nil {
		return engine.AsError(err).At("file")
	}
	o := text.TranscribeOptions{Language: value("language")}
	if stream {
		return p.say(c, value("model"), samples, o)
	}
	if format == "json" || format == "text" {
		heard, err := p.engine.Transcribe(c.Context(), value("model"), samples, o, nil)
		if err != nil {
			return err
		}
		if format == "text" {
			return c.Write(http.StatusOK, "text/plain; charset=utf-8", []byte(heard+"\n"))
		}
		return c.WriteJSON(http.StatusOK, map[string]any{"text": heard})
	}
	heard, err := p.engine.TranscribeTimed(c.Context(), value("model"), samples, o, slices.Contains(granularities, "word"))
	if err != nil {
		return err
	}
	if heard.Segments == nil && (format != "verbose_json" || len(granularities) > 0) {
		return engine.Errorf(engine.WrongModel, "the model tells no times").At("response_format")
	}
	switch format {
	case "srt":
		return c.Write(http.StatusOK, "application/x-subrip; charset=utf-8", subRip(heard.Segments))
	case "vtt":
		return c.Write(http.StatusOK, "text/vtt; charset=utf-8", webVTT(heard.Segments))
	}
	out := map[string]any{"task": "transcribe", "language": o.Language, "duration": float64(len(samples)) / sampleRate, "text": heard.Text}
	if err := addTimes(out, heard, granularities); err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, out)
}

// say streams the text in events of OpenAI's transcriptions.
func (p protocol) say(c *wire.Call, model string, samples []float32, o text.TranscribeOptions) error {
	var events *wire.Stream
	begin := func() {
		if events == nil { // an error before the first piece has its own status
			events = c.Events()
		}
	}
	heard, err := p.engine.Transcribe(c.Context(), model, samples, o, func(piece string) error {
		begin()
		return events.Send(map[string]any{"type": "transcript.text.delta", "delta": piece})
	})
	if err != nil {
		return err
	}
	begin()
	return events.Send(map[string]any{"type": "transcript.text.done", "text": heard})
}

// addTimes adds the requested times to an answer: those of segments, unless granularities request
// others.
func addTimes(out map[string]any, heard engine.Transcription, granularities []string) error {
	if heard.Segments == nil {
		return nil
	}
	if len(granularities) == 0 {
		granularities = []string{"segment"}
	}
	for _, g := range granularities {
		switch {
		case g == "segment":
			out["segments"] = numbered(heard.Segments)
		case heard.Words == nil && len(heard.Segments) > 0:
			return engine.Errorf(engine.WrongModel, "the model tells the times of segments, not of words").At("timestamp_granularities")
		default:
			out["words"] = words(heard.Words)
		}
	}
	return nil
}
