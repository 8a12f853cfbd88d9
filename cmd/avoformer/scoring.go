// This file has the flags for labels and scores of texts, and measures the effect of -weights on
// scores.

package main

import (
	"fmt"
	"math"

	"github.com/avoformer/avoformer/text"
)

// scoringFlags are the flags of commands that print scores.
type scoringFlags struct {
	weights *string
	threads *int
	check   *bool
	json    *bool
	*adapters
}

func (f *flags) scoring(what string) scoringFlags {
	f.memoryLimit()
	f.asWritten()
	return scoringFlags{f.String("weights", stored, weightsUsage), f.Int("threads", 0, "most threads; default: one for each core"), f.Bool("check", false, "print only how much results with -weights differ from those with f32 on these texts"),
		f.json(what + ": weights, texts, mean, most, index, same_label"), f.adapters()}
}

// options returns the options of the pipeline, and the same options with weights in float32.
func (s scoringFlags) options() (o, without text.Options, err error) {
	without.Threads = *s.threads
	if without.Model.Adapters, err = s.adapters.list(); err != nil {
		return o, without, err
	}
	o = without
	without.Model.Float32 = true
	return o, without, setWeights(&o.Model, *s.weights)
}

// scoring returns labels with scores for each text.
type scoring func(texts []string) ([][]text.Label, error)

// checkScores compares scores with those from weights in float32.
func (a *app) checkScores(in *lines, flags scoringFlags, score, exact scoring) error {
	most, sum, n, same, worst := 0.0, 0.0, 0, 0, 0
	err := in.eachChunk(chunkLines, func(first int, texts []string) error {
		got, err := score(texts)
		if err != nil {
			return err
		}
		want, err := exact(texts)
		if err != nil {
			return err
		}
		for i := range got {
			of := map[string]float32{}
			for _, l := range want[i] {
				of[l.Label] = l.Score
			}
			for _, l := range got[i] {
				d := math.Abs(float64(l.Score - of[l.Label]))
				sum, n = sum+d, n+1
				if d > most {
					most, worst = d, first+i+1
				}
			}
			if got[i][0].Label == want[i][0].Label {
				same++
			}
		}
		return nil
	})
	if err != nil {
		return err
	} else if in.N == 0 {
		return errNoTexts
	}
	if *flags.json {
		said := map[string]any{"weights": *flags.weights, "texts": in.N, "mean": sum / float64(n), "most": most, "index": worst - 1}
		if n > in.N {
			said["same_label"] = same
		}
		return a.printJSON(said)
	}
	labels := ""
	if n > in.N {
		labels = fmt.Sprintf("; the best label is the same for %d", same)
	}
	_, err = fmt.Fprintf(a.out, "%s compared with f32 on %d texts: scores differ by %.6f on average, at most by %.6f (line %d)%s\n", *flags.weights, in.N, sum/float64(n), most, worst, labels)
	return err
}
