// This file has the models of a process, which all bundles share.

package bundle

import (
	"fmt"
	"sync"
	"time"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/text"
)

// A Model describes the model to use. Vectors, scores and labels are those of package text: they
// depend neither on bundles nor on threads.
type Model struct {
	Dir          string // the folder of the model, on every worker
	WeightFormat string // format of the weights, such as "int8"; "": the folder's format
	// Threads is the largest number of processors that the model uses at once; 0: all.
	Threads int
	// MaxLength is the largest number of tokens of a text; 0: the model's limit. Longer texts are
	// cut or, with Refuse, become dead letters.
	MaxLength int
	Refuse    bool
	// BatchTokens is the approximate number of tokens that are computed at once, with four bytes
	// counted as a token; 0: 16,384.
	BatchTokens int
}

// options returns the options for package text.
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

// A Kind is a kind of task, such as embedding.
type Kind struct {
	// Open opens a model for a task, whose argument is the prompt or the query.
	Open func(dir, argument string, o text.Options) (bulk.Task, error)
	// Value returns the element to emit for a result without an error.
	Value func(bulk.Result) any
}

var kinds = map[string]Kind{}

// Register adds a kind, and returns its name. Call it while packages initialize, so that workers
// call it, too.
func Register(name string, k Kind) string {
	if _, ok := kinds[name]; ok {
		panic(fmt.Sprintf("bundle: the kind %q is registered twice", name))
	}
	kinds[name] = k
	return name
}

// spec identifies a task.
type spec struct {
	Kind, Argument string
	Model          Model
}

// linger is the time for which an unused model stays open: runners tear down functions between
// bundles.
const linger = time.Minute

// shared has the models of this process.
var shared = struct {
	sync.Mutex
	tasks map[spec]*task
}{tasks: map[spec]*task{}}

// task is a model that is open or being opened.
type task struct {
	open  func() (bulk.Task, error) // opens it the first time
	users int
	left  int // number of times that users became 0
}

// acquire returns the task of s, and counts one more user.
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
	if err != nil { // so that the next call tries again
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

// release counts one user less. After the last use the model is dropped, unless it is used again
// within linger.
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
