// The kinds of errors.

package fault

import "errors"

// The kinds of all packages of the project, for errors.Is. No other package declares any. Some
// kinds are within another one, which errors.Is matches too: an ErrTooLong is an ErrInput.
var (
	// What is opened.

	ErrFolder    = errors.New("unsuitable folder")                    // a folder lacks what is needed, or is of a model for something else
	ErrFormat    = errors.New("malformed file")                       // a file is damaged
	ErrConfig    = errors.New("invalid configuration")                // a file or a struct has a value that is unknown, contradictory or of the wrong type
	ErrModelType = within(ErrConfig, "model_type is not supported")   // no architecture is registered under the model_type
	ErrWeights   = errors.New("weights do not fit the model")         // tensors do not fit
	ErrMissing   = within(ErrWeights, "weights are missing")          // tensors are missing
	ErrLeftOver  = within(ErrWeights, "weights are left over")        // tensors of a file, or of an adapter, are for nothing that the model has
	ErrMisshapen = within(ErrWeights, "weights have the wrong shape") // tensors have another shape than the configuration or the model asks for
	ErrAbsent    = errors.New("not found")                            // a file has no tensor or key of the name
	ErrType      = errors.New("the type does not fit")                // a tensor or a value has another type than asked for

	// What a caller asks for.

	ErrOption         = errors.New("invalid option")                                 // an option does not exist, does not apply, or contradicts another one
	ErrInput          = errors.New("invalid input")                                  // an input, such as a text or an image, cannot be computed
	ErrToken          = within(ErrInput, "token outside the vocabulary")             // a number is not a token of the model
	ErrTooLong        = within(ErrInput, "too many tokens")                          // an input has more tokens than the model takes
	ErrText           = within(ErrInput, "cannot encode the text")                   // a text has no tokens
	ErrImage          = within(ErrInput, "image")                                    // an image cannot be decoded
	ErrSound          = within(ErrInput, "sound")                                    // a sound cannot be decoded
	ErrTools          = within(ErrInput, "tools")                                    // tools are not an array of functions
	ErrTemplate       = errors.New("chat template")                                  // a folder has no chat template, or it fails
	ErrTemplateSyntax = within(ErrTemplate, "chat template: syntax error")           // a template is not Jinja, or has parts of Jinja that are not known here
	ErrTemplateRaised = within(ErrTemplate, "chat template: raised by the template") // a template called raise_exception
	ErrTruncation     = errors.New("tokenizer: cannot truncate")                     // a limit of tokens cannot be met
	ErrPadding        = errors.New("tokenizer: cannot pad")                          // a length of tokens cannot be met
	ErrShape          = errors.New("sizes do not fit")                               // arguments have sizes that do not fit each other
	ErrUnsupported    = errors.New("not supported")                                  // a source or a file is well-formed, and has what this project does not support

	// What a grammar says.

	ErrSyntax   = within(ErrInput, "grammar: syntax error") // a schema, an expression or a grammar is malformed
	ErrTooLarge = within(ErrInput, "grammar: too large")    // a source, or a state of a text, exceeds a limit
	ErrRefused  = errors.New("token may not follow")        // a token may not follow in the text
	ErrInvalid  = errors.New("not valid for the schema")    // a text breaks a JSON schema
	ErrNoToken  = errors.New("no token may follow")         // no token of the vocabulary may follow in the text

	// What happens while it runs.

	ErrMemory       = errors.New("limit of memory reached")              // a limit of memory is reached
	ErrNotFinite    = errors.New("the model's output is not finite")     // a result has NaN or an infinity: its other numbers mean nothing either
	ErrBusy         = errors.New("too many requests wait")               // the queue has no room
	ErrClosed       = errors.New("the scheduler is closed")              // a request comes after Close
	ErrCut          = errors.New("the text was cut before it was whole") // a text held to a grammar reached a limit of tokens
	ErrLocked       = errors.New("locked")                               // another process, or another part of this one, has a folder open
	ErrOtherResults = errors.New("other results")                        // results that are there, in a folder of bulk or an index, are not those that the call would make: of another model, options or inputs. Make them again elsewhere

	// What comes from a hub.

	ErrName    = within(ErrOption, "hub: invalid name")                    // a name is not of the form org/name
	ErrNoModel = within(ErrFolder, "hub: no such model, revision or file") // the hub or the cache does not have it
	ErrCorrupt = within(ErrFormat, "hub: a file is not what the hub says") // a file has another size or hash
	ErrAccess  = errors.New("hub: no access")                              // the model is private or gated
	ErrServer  = errors.New("hub: the server failed")                      // the hub answers with an error
	ErrOffline = errors.New("hub: not in the cache, and offline")          // the cache does not have it, and Offline is set
)

// kind is a kind within another one.
type kind struct {
	text string
	of   error
}

// within is a kind that errors.Is also takes for of.
func within(of error, text string) error { return &kind{text, of} }

func (k *kind) Error() string { return k.text }
func (k *kind) Unwrap() error { return k.of }
