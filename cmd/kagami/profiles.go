package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kagami-mcp/kagami/framework/serve/surface"
	"github.com/kagami-mcp/kagami/framework/serve/surface/profile"
)

// profileFlags are the flags of inspect for profiles.
type profileFlags struct {
	profiles []string
	strict   bool
}

// check returns an error if a profile does not exist.
func (j *profileFlags) check() error {
	for _, name := range j.profiles {
		if known := append(profile.Names(), "all"); !slices.Contains(known, name) {
			return usagef("--profile: got %q, want %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// costs are the estimated tokens of each tool, and of all tools together.
type costs struct {
	Tools map[string]int `json:"tools"`
	All   int            `json:"all"`
}

func costsOf(all *surface.Surface) costs {
	c := costs{Tools: map[string]int{}}
	for i := range all.Tools {
		n := profile.Tokens(&all.Tools[i])
		c.Tools[all.Tools[i].Name] = n
		c.All += n
	}
	return c
}

// text returns the findings and costs for a person. It returns "" without --profile.
func (j *profileFlags) text(all *surface.Surface, found []profile.Finding) string {
	if len(j.profiles) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("\nProfiles\n")
	head := ""
	for _, f := range found {
		if h := fmt.Sprintf("  %s %s\n", f.Profile, f.Level); h != head {
			head = h
			out.WriteString(h)
		}
		_, _ = fmt.Fprintf(&out, "    %s: %s (%s, %s)\n", f.Where, f.What, f.Source, f.Seen)
	}
	if len(found) == 0 {
		out.WriteString("  no client refuses or changes anything\n")
	}
	c := costsOf(all)
	out.WriteString("\nTokens (about a quarter of the characters)\n")
	width := len("all tools")
	for i := range all.Tools {
		width = max(width, columns.StringWidth(all.Tools[i].Name))
	}
	for i := range all.Tools {
		_, _ = fmt.Fprintf(&out, "  %s  %6d\n", columns.FillRight(all.Tools[i].Name, width), c.Tools[all.Tools[i].Name])
	}
	_, _ = fmt.Fprintf(&out, "  %-*s  %6d\n", width, "all tools", c.All)
	return out.String()
}

// verdict returns the error of --strict if there are findings.
func (j *profileFlags) verdict(found []profile.Finding) error {
	if !j.strict || len(found) == 0 {
		return nil
	}
	return fmt.Errorf("--strict: findings of profiles: %d; the first: %s", len(found), found[0])
}

// printSurface prints what a server offers, and the findings of the profiles.
func (a *cli) printSurface(all *surface.Surface) error {
	found := profile.Check(all, a.profiles.profiles...)
	if !a.json {
		var text strings.Builder
		err := all.WriteText(&text)
		text.WriteString(a.profiles.text(all, found))
		return errors.Join(err, a.print(text.String()), a.profiles.verdict(found))
	}
	var raw bytes.Buffer
	if err := all.WriteJSON(&raw); err != nil || len(a.profiles.profiles) == 0 {
		_, failed := a.out.Write(raw.Bytes())
		return errors.Join(err, failed)
	}
	var doc map[string]json.RawMessage
	err := json.Unmarshal(raw.Bytes(), &doc)
	findings, failed := json.Marshal(append([]profile.Finding{}, found...))
	tokens, broken := json.Marshal(costsOf(all))
	if err := errors.Join(err, failed, broken); err != nil {
		return err
	}
	doc["profiles"], doc["tokens"] = findings, tokens
	return errors.Join(writeJSON(a.out, doc), a.profiles.verdict(found))
}
