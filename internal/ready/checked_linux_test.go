package ready

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/avoformer/avoformer/fault"
)

// forget makes the next Open map its file again. It does not unmap the old mapping.
func forget() {
	known.Lock()
	defer known.Unlock()
	known.files = nil
}

// TestChecked: checksums are compared once, and again after any change, including a change that
// keeps size and modification time.
func TestChecked(t *testing.T) {
	defer func(before time.Duration) { settled = before }(settled)
	path := written(t)
	open := func(way Way) error {
		forget()
		_, err := Open(path, someKey, lengthsOf(someParts), way)
		return err
	}
	isThere := func() bool {
		_, err := os.Stat(path + checkedExt)
		return err == nil
	}
	if err := open(Map); err != nil || isThere() {
		t.Fatalf("a file that was just written: %v, checked %t", err, isThere())
	}
	settled = 0
	if err := open(Map); err != nil || !isThere() {
		t.Fatalf("then: %v, checked %t", err, isThere())
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1]++
	time.Sleep(20 * time.Millisecond) // longer than a tick
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := open(Map); !errors.Is(err, fault.ErrFormat) {
		t.Errorf("another byte, with the same time: %v", err)
	}
	if info, err = os.Stat(path); err != nil {
		t.Fatal(err)
	}
	setChecked(path, info)
	if err := open(Map); err != nil {
		t.Errorf("the checksums of a file with a stamp were compared again: %v", err)
	}
	if err := open(Copy); !errors.Is(err, fault.ErrFormat) {
		t.Errorf("a copy: %v", err)
	}
	if err := Remove(path); err != nil || isThere() {
		t.Errorf("removed: %v, checked %t", err, isThere())
	}
}

// TestCheckedPipe: opening does not wait for a named pipe in place of the stamp.
func TestCheckedPipe(t *testing.T) {
	path := written(t)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(path+checkedExt, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool, 1)
	go func() { done <- isChecked(path, info) }()
	select {
	case is := <-done:
		if is {
			t.Error("a pipe is accepted as a stamp")
		}
	case <-time.After(5 * time.Second):
		t.Error("waits for the pipe")
	}
}
