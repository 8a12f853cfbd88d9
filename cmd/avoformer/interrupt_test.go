//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/avoformer/avoformer/text"
)

// TestInterruptedOpening: an interrupted command does not wait for a folder that is slow to open.
func TestInterruptedOpening(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := &app{ctx: ctx}
	opening, block := make(chan bool), make(chan bool)
	defer close(block)
	go func() {
		<-opening
		cancel()
	}()
	_, err := openModel(a, func(string, text.Options) (*text.Embedder, error) {
		close(opening)
		<-block
		return nil, nil
	}, "x", text.Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want an interrupt's error", err)
	}
}

// TestSignals: SIGINT and SIGTERM end a process that waits for a folder or for an input.
func TestSignals(t *testing.T) {
	dir := t.TempDir()
	pipe, model := filepath.Join(dir, "pipe"), filepath.Join(dir, "model")
	if err := os.CopyFS(model, os.DirFS(testdata+"embed")); err != nil {
		t.Fatal(err)
	}
	slow := filepath.Join(model, "modules.json")
	if err := os.Remove(slow); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, slow} {
		if err := syscall.Mkfifo(path, 0o666); err != nil {
			t.Skip(err)
		}
	}
	for _, args := range [][]string{{"embed", model}, {"info", model}, {"bench", model}, {"embed", testdata + "embed", pipe}, {"classify", testdata + "classify", pipe}, {"transcribe", testdata + "transcribe", pipe}} {
		for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(strings.Join(args[:1], " ")+" "+signal.String(), func(t *testing.T) {
				c := process(args...)
				var stderr bytes.Buffer
				c.Stderr = &stderr
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				defer kill(c)
				ended := make(chan error, 1)
				go func() { ended <- c.Wait() }()
				writer := waitedFor(t, args[1:], ended)
				if writer == nil {
					t.Skip("it does not wait for this: " + stderr.String())
				}
				defer writer.Close()
				if err := c.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				select {
				case <-ended:
				case <-time.After(20 * time.Second):
					t.Fatal("the process does not end")
				}
				if code := c.ProcessState.ExitCode(); code != exitInterrupted || stderr.String() != "avoformer: interrupted\n" {
					t.Errorf("exit code %d, %q", code, stderr.String())
				}
			})
		}
	}
}

// waitedFor waits until the process reads a pipe: one of the paths, or modules.json in one of them.
// It returns the pipe opened for writing, or nil if the process ends.
func waitedFor(t *testing.T, paths []string, ended chan error) *os.File {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		for _, path := range paths {
			for _, pipe := range []string{path, filepath.Join(path, "modules.json")} {
				if info, err := os.Stat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
					continue
				}
				if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
					return f
				}
			}
		}
		select {
		case <-ended:
			return nil
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatal("the process reads no pipe")
	return nil
}

// TestInterruptedPipe: an interrupted command does not wait for a pipe that no process has opened
// for writing.
func TestInterruptedPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"embed", testdata + "embed", pipe}, strings.NewReader(""), io.Discard, io.Discard)
	}()
	time.Sleep(20 * time.Millisecond)
	cancel()
	select {
	case code := <-ended:
		if code != exitInterrupted {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(20 * time.Second):
		t.Error("the command does not end")
	}
}
