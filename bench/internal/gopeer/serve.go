package gopeer

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/bench/internal/workload"
)

// Serve runs one of the libraries. It answers the protocol of package native (see its
// src/driver.h), for builds of a library that cannot be in the same program as the other libraries.
func Serve(name string, threads int, in io.Reader, out io.Writer) error {
	list := All(threads)
	i := slices.IndexFunc(list, func(c workload.Contestant) bool { return c.Name() == name })
	if i < 0 {
		_, err := fmt.Fprintf(out, "error %s is not built into this program\n", name)
		return err
	}
	fmt.Fprintf(out, "ready %s\n", list[i].Version())
	var job workload.Job
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer := "ok"
		f := strings.Fields(lines.Text())
		switch {
		case len(f) > 3 && f[0] == "case":
			var err error
			if job, err = open(list[i], f[1], f[3], strings.Join(f[4:], "x")); err != nil {
				answer = "no " + err.Error()
			}
		case len(f) == 2 && f[0] == "time" && job != nil:
			var reps int
			fmt.Sscan(f[1], &reps)
			t, err := job.Time(reps)
			if answer = fmt.Sprint(t.Nanoseconds()); err != nil {
				answer = "no " + err.Error()
			}
		case len(f) == 1 && f[0] == "free":
			job = nil
		default:
			answer = "no such command, or no open case"
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// open reads the inputs of a case, computes it once, and writes the result.
func open(c workload.Contestant, op, dir, shape string) (workload.Job, error) {
	k, err := workload.Parse(op + " " + shape)
	if err != nil {
		return nil, err
	}
	d := &workload.Data{Case: k}
	for {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("in%d", len(d.In))))
		if os.IsNotExist(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		d.In = append(d.In, workload.Decode(b))
	}
	job, err := c.Open(d, "")
	if err != nil {
		return nil, err
	}
	y, err := job.Output()
	if err != nil {
		return nil, err
	}
	return job, os.WriteFile(filepath.Join(dir, "out"), workload.Encode(y), 0o600)
}
