package checkasm

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"unsafe"
)

// Call calls the assembly function fn with the given arguments, one of each parameter's type, and
// returns its results. The error joins all violations of the rules for Go assembly functions (see
// the package's comment). fn must be NOSPLIT, and its arguments and results must leave space for a
// few canaries in 1024 bytes.
//
// On architectures without a harness, Call calls fn like any Go function.
func Call(fn any, args ...any) (results []any, err error) {
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		in[i] = reflect.ValueOf(a)
	}
	out, errs := callValues(reflect.ValueOf(fn), in, false)
	for _, v := range out {
		results = append(results, v.Interface())
	}
	return results, errors.Join(errs...)
}

// frame is the area below the return address in which ABI0 passes arguments and results. Words past
// those are canaries.
type frame [frameWords]uintptr

// frameWords is repeated in the assembly.
const frameWords = 128

// machine holds the state that the assembly set before the call and the state that it found after
// the call. It is one global because nothing else survives a wrong stack pointer.
var (
	machineMu sync.Mutex
	machine   state
)

func callValues(fn reflect.Value, args []reflect.Value, tiles bool) (results []reflect.Value, errs []error) {
	if !haveHarness {
		return fn.Call(args), nil
	}
	entry, err := entryABI0(fn)
	if err != nil {
		return nil, []error{err}
	}
	f := new(frame)
	for i := range f {
		f[i] = frameCanary
	}
	offsets, size := pack(f, fn.Type(), args)

	machineMu.Lock()
	defer machineMu.Unlock()
	machine.prepare(tiles)
	call(entry, f)
	runtime.KeepAlive(args)

	for i, off := range offsets {
		results = append(results, reflect.NewAt(fn.Type().Out(i), unsafe.Add(unsafe.Pointer(f), off)).Elem())
	}
	for i := (size + ptrSize - 1) / ptrSize; i < len(f); i++ {
		if f[i] != frameCanary {
			errs = append(errs, fmt.Errorf("wrote to the stack of its caller, %d bytes above its arguments", i*ptrSize-size))
			break
		}
	}
	return results, append(errs, machine.verify()...)
}

const (
	ptrSize     = int(unsafe.Sizeof(uintptr(0)))
	frameCanary = ^uintptr(0) / 0xff * 0xc5 // 0xc5c5…
)

// pack lays the arguments out as ABI0 does. It returns the offsets of the results and the number of
// bytes of arguments and results.
func pack(f *frame, t reflect.Type, args []reflect.Value) (results []int, off int) {
	align := func(n int) { off = (off + n - 1) &^ (n - 1) }
	for i, a := range args {
		p := t.In(i)
		align(p.Align())
		if off+int(p.Size()) > frameWords*ptrSize {
			panic(fmt.Sprintf("checkasm: arguments of %v take too much stack", t))
		}
		// The collector does not see pointers in f; args keeps their targets alive.
		v := reflect.New(p)
		v.Elem().Set(a)
		copy(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(f), off)), p.Size()), unsafe.Slice((*byte)(v.UnsafePointer()), p.Size()))
		off += int(p.Size())
	}
	align(ptrSize)
	for i := range t.NumOut() {
		align(t.Out(i).Align())
		results = append(results, off)
		off += int(t.Out(i).Size())
	}
	return results, off
}

// entryABI0 returns the address at which an assembly function begins. A func value points to the
// linker's wrapper, which turns Go's register arguments into stack arguments. The function is the
// target of the wrapper's call.
func entryABI0(fn reflect.Value) (uintptr, error) {
	pc := fn.Pointer()
	f := runtime.FuncForPC(pc)
	for _, target := range callTargets(pc) {
		if g := runtime.FuncForPC(target); g != nil && g.Entry() == target && target != pc && g.Name() == f.Name() {
			return target, nil
		}
	}
	return 0, fmt.Errorf("checkasm: no ABI0 entry for %s: is it an assembly function?", f.Name())
}
