//go:build linux && amd64

// Command init is the first and only process of the Linux guest that scripts/avx512/boot.sh starts
// in an emulator. It runs the commands listed in /commands, prints their output and exit statuses
// and then the files left in /out on the serial port, and switches the machine off.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	defer powerOff()
	mount("proc", "/proc")
	mount("sysfs", "/sys")
	mount("devtmpfs", "/dev")
	tty, err := openSerial("/dev/ttyS0")
	if err != nil {
		return // boot.sh reports that there was no exit status
	}
	defer drain(tty)

	token := readFile("/token")
	mark := func(format string, args ...any) {
		fmt.Fprintf(tty, "\n@@"+token+" "+format+"\n", args...)
	}
	os.MkdirAll("/tmp", 0o777)
	os.MkdirAll("/out", 0o777)
	status := 0
	mark("BEGIN")
	for command := range strings.Lines(readFile("/commands")) {
		start := time.Now()
		code := run(tty, strings.Fields(command))
		mark("DONE %d %.1f %s", code, time.Since(start).Seconds(), strings.TrimSpace(command))
		if status == 0 {
			status = code
		}
	}
	files, _ := filepath.Glob("/out/*")
	for _, name := range files {
		mark("FILE %s", filepath.Base(name))
		io.WriteString(tty, readFile(name))
	}
	mark("EXIT %d", status)
}

// run runs one line of /commands and returns its exit status:
//
//	[!] DIRECTORY [NAME=VALUE]... PROGRAM [ARGUMENT]...
//
// After "!" the program must fail: run returns 0 if it does, and 1 if not.
func run(tty *os.File, fields []string) int {
	mustFail := fields[0] == "!"
	if mustFail {
		fields = fields[1:]
	}
	cmd := exec.Cmd{Dir: fields[0], Stdout: tty, Stderr: tty}
	cmd.Env = []string{"HOME=/tmp", "TMPDIR=/tmp", "PATH=/"}
	fields = fields[1:]
	for strings.Contains(fields[0], "=") {
		cmd.Env = append(cmd.Env, fields[0])
		fields = fields[1:]
	}
	cmd.Path, cmd.Args = fields[0], fields

	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil && mustFail:
		fmt.Fprintln(tty, "init: the program had to fail, but did not")
		return 1
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		fmt.Fprintln(tty, "init:", err)
		return 127
	case mustFail && exit.ExitCode() == 1: // a test's verdict, not a crash
		return 0
	}
	if ws := exit.Sys().(syscall.WaitStatus); ws.Signaled() {
		fmt.Fprintln(tty, "init: killed by", ws.Signal())
		return 128 + int(ws.Signal())
	}
	return exit.ExitCode()
}

func mount(fstype, dir string) {
	os.MkdirAll(dir, 0o755)
	syscall.Mount(fstype, dir, fstype, 0, "")
}

func readFile(name string) string {
	b, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "init: " + err.Error()
	}
	return string(bytes.TrimSpace(b))
}

// openSerial opens a serial port that does not convert "\n".
func openSerial(name string) (*os.File, error) {
	tty, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	var t syscall.Termios
	syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&t)))
	t.Oflag &^= syscall.OPOST
	syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TCSETS, uintptr(unsafe.Pointer(&t)))
	return tty, nil
}

// drain waits until the port has sent everything.
func drain(tty *os.File) {
	const tcsbrk = 0x5409
	syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), tcsbrk, 1)
}

// powerOff ends the emulation. Bochs exits when "Shutdown" is written, byte by byte, to I/O port
// 0x8900. If that has no effect, powerOff switches the machine off in the usual way, by ACPI.
func powerOff() {
	syscall.Sync()
	if port, err := os.OpenFile("/dev/port", os.O_WRONLY, 0); err == nil {
		for _, c := range []byte("Shutdown") {
			port.Seek(0x8900, io.SeekStart)
			port.Write([]byte{c})
		}
	}
	syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
	select {}
}
