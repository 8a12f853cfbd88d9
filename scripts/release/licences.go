// This file has the licences of modules, from the files in the module cache, and the bill of
// materials.

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// licenceText is a file that states the licence of a module.
type licenceText struct {
	file string
	text []byte
	name string // the licence's SPDX name
}

var licenceFile = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|notice)([._-].*)?$`)

// licencesOf returns the licences of a module. A module without a known licence is an error, and so
// is a licence file that matches none of marks.
func licencesOf(m *debug.Module) ([]licenceText, error) {
	download := exec.Command("go", "mod", "download", "-json", m.Path+"@"+m.Version)
	download.Env = append(os.Environ(), "GOWORK=off")
	download.Dir = os.TempDir()
	out, err := download.Output()
	if err != nil {
		return nil, fmt.Errorf("go mod download %s: %w", m.Path, err)
	}
	var at struct{ Dir string }
	if err := json.Unmarshal(out, &at); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(at.Dir)
	if err != nil {
		return nil, err
	}
	var all []licenceText
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".docs") { // a licence of the module's pages
			continue
		}
		text, err := os.ReadFile(filepath.Join(at.Dir, e.Name()))
		if err != nil {
			return nil, err
		}
		name := classify(string(text))
		if name == "" && !strings.HasPrefix(strings.ToLower(e.Name()), "notice") {
			return nil, fmt.Errorf("%s of %s is not a licence that is known here", e.Name(), m.Path)
		}
		all = append(all, licenceText{e.Name(), text, name})
	}
	if names(all) == "" {
		return nil, fmt.Errorf("%s has no licence", m.Path)
	}
	return all, nil
}

// marks are texts that identify licences. A file may hold several licences.
var marks = []struct{ name, words string }{
	{"Apache-2.0", "Apache License Version 2.0, January 2004"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"BSD-3-Clause", "be used to endorse or promote products derived from"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce the above copyright notice"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"Unlicense", "This is free and unencumbered software released into the public domain"},
}

// classify returns an SPDX expression for the licences in a text, or "" if the text matches none of
// marks.
func classify(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	var found []string
	for _, m := range marks {
		whole := m.name != "BSD-2-Clause" || !slices.Contains(found, "BSD-3-Clause") // whose text contains that of BSD-2-Clause
		if whole && strings.Contains(text, strings.ToLower(m.words)) {
			found = append(found, m.name)
		}
	}
	return strings.Join(found, " AND ")
}

// names returns the licences of a module, as an SPDX expression.
func names(all []licenceText) string {
	var seen []string
	for _, l := range all {
		for _, n := range strings.Split(l.name, " AND ") {
			if n != "" && !slices.Contains(seen, n) {
				seen = append(seen, n)
			}
		}
	}
	return strings.Join(seen, " AND ")
}

type component struct {
	Type     string    `json:"type"`
	Name     string    `json:"name"`
	Version  string    `json:"version,omitempty"`
	PURL     string    `json:"purl,omitempty"`
	Hashes   []hash    `json:"hashes,omitempty"`
	Licences []licence `json:"licenses,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licence struct {
	Expression string `json:"expression"`
}

// billOfMaterials returns a CycloneDX 1.6 document with the command, Go, and the modules in the
// command. Its serial number is derived from its content.
func billOfMaterials(version, platform string, info *debug.BuildInfo, when time.Time) ([]byte, error) {
	components := []component{{Type: "platform", Name: "go", Version: strings.TrimPrefix(info.GoVersion, "go"), Licences: []licence{{"BSD-3-Clause"}}}}
	for _, m := range others(info) {
		texts, err := licencesOf(m)
		if err != nil {
			return nil, err
		}
		components = append(components, component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version, Licences: []licence{{names(texts)}}})
	}
	bill := map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{
			"timestamp":  when.Format(time.RFC3339),
			"component":  component{Type: "application", Name: "avoformer", Version: version, PURL: "pkg:golang/" + self + "/cmd/avoformer@" + version, Licences: []licence{{"BSD-3-Clause"}}},
			"properties": []map[string]string{{"name": "platform", "value": platform}},
		},
		"components": components,
	}
	unnumbered, err := json.Marshal(bill)
	if err != nil {
		return nil, err
	}
	n := sha256.Sum256(unnumbered)
	n[6], n[8] = n[6]&0x0f|0x50, n[8]&0x3f|0x80 // a UUID made of a hash, RFC 9562's version 5 except for SHA-1
	s := hex.EncodeToString(n[:16])
	bill["serialNumber"] = "urn:uuid:" + s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:32]
	return json.MarshalIndent(bill, "", " ")
}
