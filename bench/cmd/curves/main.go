// Curves draws speed by the number of threads from a file of figures, as an SVG on standard output.
//
//	go run -C bench ./cmd/curves results/NAME-threads.txt > bench/results/NAME-threads.svg
//
// A line of the file is a key and a value, such as "cpu: ...", or a series: its name, its unit, and
// figures as threads=value, separated by bars. In units that end in /s more is faster, in ms less.
// Lines that begin with # are comments.
package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "curves:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("%d arguments, want a file of figures", len(args))
	}
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := read(f)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	_, err = io.WriteString(w, c.svg())
	return err
}

// A point has a number of threads, and the speed on these threads relative to one thread.
type point struct{ threads, speedup float64 }

type series struct {
	label  string // the name, and the speed on one thread
	points []point
}

type chart struct {
	title, cpu, command string
	series              []series
}

// most is the largest number of threads in a file.
const most = 4096

// read reads a file of figures.
func read(r io.Reader) (*chart, error) {
	c := &chart{}
	keys := map[string]*string{"title": &c.title, "cpu": &c.cpu, "command": &c.command}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if fields := strings.Split(line, "|"); len(fields) > 1 {
			s, err := readSeries(fields)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			c.series = append(c.series, s)
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		if keys[key] == nil {
			return nil, fmt.Errorf("line %d: %q: want title, cpu, command or a series", n, line)
		}
		*keys[key] = strings.TrimSpace(value)
	}
	for key, value := range keys {
		if *value == "" {
			return nil, fmt.Errorf("no line %q", key+":")
		}
	}
	if len(c.series) == 0 || len(c.series) > len(colours) {
		return nil, fmt.Errorf("%d series, want 1 to %d", len(c.series), len(colours))
	}
	return c, lines.Err()
}

// readSeries reads a series. Its first figure is for one thread.
func readSeries(fields []string) (s series, err error) {
	if len(fields) != 3 {
		return s, fmt.Errorf("%d fields, want name | unit | figures", len(fields))
	}
	name, unit := strings.TrimSpace(fields[0]), strings.TrimSpace(fields[1])
	if unit != "ms" && !strings.HasSuffix(unit, "/s") {
		return s, fmt.Errorf("unit %q: want ms or a unit that ends in /s", unit)
	}
	first := 0.0
	for _, figure := range strings.Fields(fields[2]) {
		on, text, _ := strings.Cut(figure, "=")
		threads, err := strconv.Atoi(on)
		value, bad := strconv.ParseFloat(text, 64)
		if err != nil || bad != nil || !(value > 0 && value < math.MaxFloat32) || threads < 1 || threads > most {
			return s, fmt.Errorf("figure %q: want threads=value, both positive", figure)
		}
		if n := len(s.points); n == 0 && threads != 1 || n > 0 && float64(threads) <= s.points[n-1].threads {
			return s, fmt.Errorf("figure %q: want one thread first, then more in order", figure)
		}
		if threads == 1 {
			first, s.label = value, fmt.Sprintf("%s (%s %s)", name, text, unit)
		}
		speedup := value / first
		if unit == "ms" {
			speedup = first / value
		}
		s.points = append(s.points, point{float64(threads), speedup})
	}
	if len(s.points) < 2 {
		return s, fmt.Errorf("%d figures, want 2 or more", len(s.points))
	}
	return s, nil
}
