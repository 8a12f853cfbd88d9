// Package openai implements OpenAI's protocol: the requests of its clients, and the answers and
// errors that they expect.
package openai

import (
	"encoding/json"
	"net/http"

	"github.com/avoformer/avoformer/serve/internal/engine"
)

// body is an error in OpenAI's form.
type body struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

// Error writes an error in OpenAI's form.
func Error(w http.ResponseWriter, e *engine.Error) {
	data, err := ErrorJSON(e)
	if err != nil {
		panic(err) // impossible: strings can always be JSON
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Kind.Status())
	w.Write(data)
}

// ErrorJSON returns an error in OpenAI's form, which streams send too.
func ErrorJSON(e *engine.Error) ([]byte, error) {
	var b body
	b.Error.Message = e.Message
	b.Error.Type = "invalid_request_error"
	code := ""
	switch e.Kind {
	case engine.UnknownModel:
		code = "model_not_found"
	case engine.TooLong:
		code = "context_length_exceeded"
	case engine.Unauthorized:
		code = "invalid_api_key"
	case engine.Overloaded:
		b.Error.Type, code = "rate_limit_error", "rate_limit_exceeded"
	case engine.Internal, engine.Unavailable:
		b.Error.Type, code = "server_error", "server_error"
	case engine.Deadline, engine.Cancelled:
		b.Error.Type, code = "timeout_error", "timeout"
	}
	if code != "" {
		b.Error.Code = &code
	}
	if e.Param != "" {
		b.Error.Param = &e.Param
	}
	return json.Marshal(b)
}
