// This file declares the kinds of errors.

package fault

import "errors"

// These are the kinds of errors of all packages of the project, for errors.Is. No other package
// declares kinds. Some kinds belong to a more general one, which errors.Is also matches: an
// ErrTooLong is an ErrInput.
var (
	// Errors of folders, files and configurations.

	ErrFolder    = errors.New("unsuitable folder")                    // a folder lacks needed files, or its model serves another purpose
	ErrFormat    = errors.New("malformed file")                       // a file is damaged
	ErrConfig    = errors.New("invalid configuration")                // a file or a struct has a value that is unknown, contradictory or of the wrong type
	ErrModelType = within(ErrConfig, "model_type is not supported")   // no architecture is registered for the model_type
	ErrWeights   = errors.New("weights do not fit the model")         // tensors do not fit
	ErrMissing   = within(ErrWeights, "weights are missing")          // tensors are missing
	ErrLeftOver  = within(ErrWeights, "weights are left over")        // a file or an adapter has tensors that belong to no part of the model
	ErrMisshapen = within(ErrWeights, "weights have the wrong shape") // tensors do not have the shape that the configuration or the model requires
	ErrAbsent    = errors.New("not found")                            // a file has no tensor or key of that name
	ErrType      = errors.New("the type does not fit")                // a tensor or a value does not have the requested type

	// Errors of options and inputs.

	ErrOption         = errors.New("invalid option")                                 // an option is unknown, does not apply, or contradicts another one
	ErrInput          = errors.New("invalid input")                                  // an input, such as a text or an image, cannot be processed
	ErrToken          = within(ErrInput, "token outside the vocabulary")             // a number is not a token of the model
	ErrTooLong        = within(ErrInput, "too many tokens")                          // an input has more tokens than the model accepts
	ErrText           = within(ErrInput, "cannot encode the text")                   // a text cannot be encoded as tokens
	ErrImage          = within(ErrInput, "image")                                    // an image cannot be decoded
	ErrSound          = within(ErrInput, "sound")                                    // a sound cannot be decoded
	ErrTools          = within(ErrInput, "tools")                                    // tools are not an array of functions
	ErrTemplate       = errors.New("chat template")                                  // a folder has no chat template, or the template fails
	ErrTemplateSyntax = within(ErrTemplate, "chat template: syntax error")           // a template is not Jinja, or uses a part of Jinja that this project does not implement
	ErrTemplateRaised = within(ErrTemplate, "chat template: raised by the template") // a template called raise_exception
	ErrTruncation     = errors.New("tokenizer: cannot truncate")                     // a text cannot be cut to a limit of tokens
	ErrPadding        = errors.New("tokenizer: cannot pad")                          // a text cannot be padded to a number of tokens
	ErrShape          = errors.New("sizes do not fit")                               // arguments have sizes that do not fit each other
	ErrUnsupported    = errors.New("not supported")                                  // a well-formed source or file uses a feature that this project does not support

	// Errors of grammars and schemas.

	ErrSyntax   = within(ErrInput, "grammar: syntax error") // a schema, an expression or a grammar is malformed
	ErrTooLarge = within(ErrInput, "grammar: too large")    // a source, or the state of a matcher, exceeds a limit
	ErrRefused  = errors.New("token may not follow")        // the grammar does not allow the token at this place of the text
	ErrInvalid  = errors.New("not valid for the schema")    // a text breaks a JSON schema
	ErrNoToken  = errors.New("no token may follow")         // the grammar allows no token of the vocabulary at this place of the text

	// Errors while a program runs.

	ErrMemory       = errors.New("limit of memory reached")              // a limit of memory is reached
	ErrNotFinite    = errors.New("the model's output is not finite")     // a result contains NaN or an infinity; its other numbers are meaningless too
	ErrBusy         = errors.New("too many requests wait")               // the queue is full
	ErrClosed       = errors.New("the scheduler is closed")              // a request arrives after Close
	ErrCut          = errors.New("the text was cut before it was whole") // a text that follows a grammar reached a limit of tokens before its end
	ErrLocked       = errors.New("locked")                               // another process, or another part of this one, has a folder open
	ErrOtherResults = errors.New("other results")                        // a folder of bulk or an index already holds results of another model, other options or other inputs; write the new results to another place

	// Errors of package hub.

	ErrName    = within(ErrOption, "hub: invalid name")                                 // a name is not of the form org/name
	ErrNoModel = within(ErrFolder, "hub: no such model, revision or file")              // the hub or the cache does not have the model, the revision or the file
	ErrCorrupt = within(ErrFormat, "hub: a file does not match the hub's size or hash") // a file has another size or hash
	ErrAccess  = errors.New("hub: no access")                                           // the model is private or gated
	ErrServer  = errors.New("hub: the server failed")                                   // the hub cannot be reached, or answers with an error or something invalid
	ErrOffline = errors.New("hub: not in the cache, and offline")                       // the cache does not have the model or the file, and Offline is set
)

// kind is a kind of errors that belongs to a more general one.
type kind struct {
	text string
	of   error
}

// within returns a kind that errors.Is also matches with of.
func within(of error, text string) error { return &kind{text, of} }

func (k *kind) Error() string { return k.text }
func (k *kind) Unwrap() error { return k.of }
