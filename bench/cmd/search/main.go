// Search searches a million vectors in turn with package search, faiss and usearch, in each
// precision. It prints queries per second, recall, and the share of the bandwidth of memory.
package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/avoformer/avoformer/bench/internal/interleave"
	"github.com/avoformer/avoformer/search"
)

var (
	python  = flag.String("python", "python3", "an interpreter that has faiss-cpu and usearch; empty: none")
	dir     = flag.String("dir", os.TempDir(), "where vectors lie")
	count   = flag.Int("n", 1_000_000, "how many vectors")
	dim     = flag.Int("dim", 384, "numbers of a vector, a multiple of 8")
	k       = flag.Int("k", 10, "hits of a query")
	rounds  = flag.Int("rounds", 10, "rounds")
	threads = flag.Int("threads", 2, "threads of all libraries")
	only    = flag.String("only", "float32,int8,binary,rescored", "the precisions")
	wait    = flag.String("wait", "", "begin to measure once this file is there")
	usearch = flag.Bool("usearch", true, "usearch too")
)

//go:embed peers.py
var peersScript string

func main() {
	log.SetFlags(0)
	flag.Parse()
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// contender is a library that takes part.
type contender struct {
	name   string
	search func(precision string, queries [][]float32) (time.Duration, [][]int64, error)
}

func run() error {
	vectorsFile := filepath.Join(*dir, fmt.Sprintf("vectors-%d-%d.f32", *count, *dim))
	vectors, err := makeVectors(vectorsFile)
	if err != nil {
		return err
	}
	precisions := strings.Split(*only, ",")
	ours, err := openOurs(precisions, vectors)
	if err != nil {
		return err
	}
	contenders := []contender{{"avoformer", ours.search}}
	if *python != "" {
		p, err := startPeers(vectorsFile)
		if err != nil {
			return err
		}
		defer p.stop()
		for _, name := range []string{"faiss", "usearch"} {
			if name != "usearch" || *usearch {
				contenders = append(contenders, contender{name, func(precision string, queries [][]float32) (time.Duration, [][]int64, error) {
					return p.search(name, precision, queries)
				}})
			}
		}
	}
	// Half of the queries are close to vectors; the other half have the same distribution.
	queries := newMaker(2).vectors(64)
	for i := range 32 {
		queries[i] = near(vectors[i*(*count/32)], uint64(i))
	}
	for *wait != "" {
		if _, err := os.Stat(*wait); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, m := range []int{64, 1} {
		for _, precision := range precisions {
			if err := compare(contenders, ours, precision, queries[:m]); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare measures all contenders in turn, and prints the results.
func compare(contenders []contender, ours *own, precision string, queries [][]float32) error {
	truth, _, err := ours.exact(queries)
	if err != nil {
		return err
	}
	seconds := make([][]float64, len(contenders))
	recalls := make([]float64, len(contenders))
	var reads []float64
	memory := bytes.Repeat([]byte{2}, 1<<30)
	for range *rounds {
		if len(queries) == 1 {
			reads = append(reads, bandwidth(memory))
		}
		for i, c := range contenders {
			if c.name == "usearch" && len(queries) > 1 && len(seconds[i]) == 3 {
				continue // it is many times slower
			}
			time.Sleep(30 * time.Millisecond) // the threads of other libraries stop spinning
			took, ids, err := c.search(precision, queries)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, precision, err)
			}
			seconds[i], recalls[i] = append(seconds[i], took.Seconds()), recall(ids, truth)
		}
	}
	for i, c := range contenders {
		s := interleave.Median(seconds[i])
		fmt.Printf("%2d queries %-8s %-9s %10.2f ms %9.1f queries/s  recall@%d %.3f", len(queries), precision, c.name, s*1e3, float64(len(queries))/s, *k, recalls[i])
		if i == 0 && len(queries) == 1 {
			read := interleave.Median(reads)
			fmt.Printf("  %.1f GB/s, %.0f%% of %.1f", float64(ours.bytes[precision])/s/1e9, 100*float64(ours.bytes[precision])/s/read, read/1e9)
		}
		if i > 0 {
			var ratios []float64
			for j := range seconds[i] {
				ratios = append(ratios, seconds[i][j]/seconds[0][j])
			}
			slices.Sort(ratios)
			fmt.Printf("  ours is %.2f times as fast (%.2f to %.2f, %d rounds)", interleave.Median(ratios), ratios[0], ratios[len(ratios)-1], len(ratios))
		}
		fmt.Println()
	}
	return nil
}

// recall returns the share of the true ids that were found.
func recall(got, want [][]int64) float64 {
	found, all := 0, 0
	for i := range want {
		for _, id := range want[i] {
			all++
			if slices.Contains(got[i], id) {
				found++
			}
		}
	}
	return float64(found) / float64(all)
}

// own is package search.
type own struct {
	indexes map[string]*search.Index
	bytes   map[string]int // the number of bytes that a query reads
}

func openOurs(precisions []string, vectors [][]float32) (*own, error) {
	o := &own{map[string]*search.Index{}, map[string]int{}}
	options := map[string]search.Options{
		"float32": {}, "int8": {Precision: search.Int8}, "binary": {Precision: search.Binary},
		"rescored": {Precision: search.Binary, Rescore: search.Int8},
	}
	sizes := map[string]int{"float32": 4 * *dim, "int8": *dim / 32 * 34, "binary": *dim / 8, "rescored": *dim / 8}
	for _, p := range append([]string{"float32"}, precisions...) {
		if o.indexes[p] != nil {
			continue
		}
		opts, ok := options[p]
		if !ok {
			return nil, fmt.Errorf("unknown precision %q", p)
		}
		opts.Threads = *threads
		x, err := search.New(*dim, opts)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		if err := x.Add(nil, vectors); err != nil {
			return nil, err
		}
		fmt.Printf("%s: %d vectors added in %.1f s\n", p, x.Len(), time.Since(start).Seconds())
		o.indexes[p], o.bytes[p] = x, *count*sizes[p]
	}
	return o, nil
}

func (o *own) search(precision string, queries [][]float32) (time.Duration, [][]int64, error) {
	start := time.Now()
	hits, err := o.indexes[precision].Search(context.Background(), queries, *k)
	took := time.Since(start)
	ids := make([][]int64, len(hits))
	for i := range hits {
		for _, h := range hits[i] {
			ids[i] = append(ids[i], h.ID)
		}
	}
	return took, ids, err
}

// exact returns the results of float32.
func (o *own) exact(queries [][]float32) ([][]int64, time.Duration, error) {
	took, ids, err := o.search("float32", queries)
	return ids, took, err
}

// bandwidth returns the number of bytes per second that all threads together read from memory.
func bandwidth(memory []byte) float64 {
	var group sync.WaitGroup
	start := time.Now()
	for t := range *threads {
		group.Go(func() {
			if bytes.IndexByte(memory[t*len(memory) / *threads:(t+1)*len(memory) / *threads], 1) >= 0 {
				panic("a byte is 1")
			}
		})
	}
	group.Wait()
	return float64(len(memory)) / time.Since(start).Seconds()
}

// peers is the process of the other libraries.
type peers struct {
	command       *exec.Cmd
	in            io.WriteCloser
	out           *bufio.Reader
	queries, hits string
}

func startPeers(vectorsFile string) (*peers, error) {
	p := &peers{queries: filepath.Join(*dir, "queries.f32"), hits: filepath.Join(*dir, "hits.i64")}
	p.command = exec.Command(*python, "-c", peersScript, vectorsFile, p.queries, p.hits, fmt.Sprint(*dim), fmt.Sprint(*threads))
	p.command.Stderr = os.Stderr
	var err error
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	version, err := p.out.ReadString('\n')
	fmt.Print(version)
	return p, err
}

func (p *peers) search(library, precision string, queries [][]float32) (time.Duration, [][]int64, error) {
	if err := os.WriteFile(p.queries, encode(queries), 0o644); err != nil {
		return 0, nil, err
	}
	fmt.Fprintln(p.in, library, precision, *k)
	var seconds float64
	if _, err := fmt.Fscanln(p.out, &seconds); err != nil {
		return 0, nil, err
	}
	data, err := os.ReadFile(p.hits)
	if err != nil {
		return 0, nil, err
	}
	if len(data) != 8**k*len(queries) {
		return 0, nil, errors.New("too few hits")
	}
	flat := make([]int64, len(data)/8)
	if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, flat); err != nil {
		return 0, nil, err
	}
	return time.Duration(seconds * 1e9), slices.Collect(slices.Chunk(flat, *k)), nil
}

func (p *peers) stop() {
	p.in.Close()
	if err := p.command.Wait(); err != nil {
		log.Print(err)
	}
}
