package main

import "strings"

// regularOpens finds files that are not opened by package regular, which opens no pipes and no
// devices. Packages that read folders of models must use it. Example programs cannot, since they
// must not import internal packages.
func regularOpens(t *tree) (problems []string) {
	for _, f := range t.files {
		switch {
		case strings.Contains(f.dir, "internal/cmd/"), below(f.dir, "text/examples"):
			continue
		case !below(f.dir, "models") && !below(f.dir, "text") && !below(f.dir, "transformer") && !below(f.dir, "internal/hub"):
			continue
		}
		for _, call := range []string{"fs.ReadFile(", "os.ReadFile(", "os.Open(", "fsys.Open(", "os.OpenFile("} {
			if strings.Contains(f.text, call) {
				problems = append(problems, f.path+": "+call+"...), want that of package regular")
			}
		}
	}
	return problems
}
