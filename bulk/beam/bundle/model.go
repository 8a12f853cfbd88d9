// Models, one of each kind a process however many bundles run.

package bundle

import (
	"fmt"
	"sync"
	"time"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/text"
)

// A Model says which model is used, and how. Vectors, scores and labels are those of package text:
// they depend neither on bundles nor on threads.
type Model struct {
	Dir          string // the folder of the model, on every worker
	WeightFormat string // format of the weights, such as "int8"; "": as the folder has them
	// Threads is the most processors that the model uses at once; 0: all.
	Threads int
	// MaxLength cuts texts to as many tokens, 0: to what the model takes. Refuse makes dead letters
	// of longer ones.
	MaxLength int
	Refuse    bool
	// BatchTokens is about how many tokens are computed at once, a token being taken for four
	// bytes; 0: 16,384.
	BatchTokens int
}

// options are those of package text.
func (m Model) options() (text.Options, error) {
	o := text.Options{Threads: m.Threads, MaxLength: m.MaxLength}
	if m.Refuse {
		o.Long = text.LongRefuse
	}
	if m.WeightFormat == "" {
		return o, nil
	}
	var err error
	o.Model.WeightFormat, err = kernels.ParseFormat(m.WeightFormat)
	return o, err
}

// A Kind is a kind of task, such as making vectors of texts.
type Kind struct {
	// Open opens a model for a task, whose argument is the prompt or the query.
	Open func(dir, argument string, o text.Options) (bulk.Task, error)
	// Value is the element of a result that has no error.
	Value func(bulk.Result) any
}

var kinds = map[string]Kind{}

// Register adds a kind, and returns its name. It is called while packages initialize, on workers as
// well.
func Register(name string, k Kind) string {
	if _, ok := kinds[name]; ok {
		panic(fmt.Sprintf("bundle: the kind %q is registered twice", name))
	}
	kinds[name] = k
	return name
}

// spec is all that a task depends on.
type spec struct {
	Kind, Argument string
	Model          Model
}

// linger is how long a model stays open that nobody uses: runners tear down functions between
// bundles.
const linger = time.Minute

// shared are the models of this process.
var shared = struct {
	sync.Mutex
	tasks map[spec]*task
}{tasks: map[spec]*task{}}

// task is a model that is open, or about to be.
type task struct {
	open  func() (bulk.Task, error) // opens it the first time
	users int
	left  int // how often the last user has left
}

// acquire returns the task of s, with one user more.
func acquire(s spec) (bulk.Task, error) {
	shared.Lock()
	t := shared.tasks[s]
	if t == nil {
		t = &task{open: sync.OnceValues(func() (bulk.Task, error) { return open(s) })}
		shared.tasks[s] = t
	}
	t.users++
	shared.Unlock()
	opened, err := t.open()
	if err != nil { // somebody else may try again
		shared.Lock()
		if shared.tasks[s] == t {
			delete(shared.tasks, s)
		}
		shared.Unlock()
	}
	return opened, err
}

func open(s spec) (bulk.Task, error) {
	k, ok := kinds[s.Kind]
	if !ok {
		return bulk.Task{}, fmt.Errorf("bundle: no kind %q is registered in this program", s.Kind)
	}
	o, err := s.Model.options()
	if err != nil {
		return bulk.Task{}, err
	}
	return k.Open(s.Model.Dir, s.Argument, o)
}

// release ends a use. After the last one the model goes, unless it is used again before long.
func release(s spec) {
	shared.Lock()
	defer shared.Unlock()
	t := shared.tasks[s]
	if t == nil {
		return
	}
	if t.users--; t.users > 0 {
		return
	}
	t.left++
	left := t.left
	time.AfterFunc(linger, func() {
		shared.Lock()
		defer shared.Unlock()
		if t.users == 0 && t.left == left && shared.tasks[s] == t {
			delete(shared.tasks, s)
		}
	})
}
