package form

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// Inputs returns the pages for the inputs of an app, one for each group. given
// are inputs whose value is already set, which are omitted; current are the
// plain values of an install, and kept the sensitive ones that it has.
func Inputs(config api.AppConfig, given map[string]bool, current map[string]string, kept map[string]bool) []Page {
	var pages []Page
	for _, g := range groups(config) {
		page := Page{Title: cmp.Or(g.DisplayName, g.Name), Description: g.Description}
		for _, in := range config.Inputs {
			if in.Group == g.Name && !given[in.Name] {
				page.Fields = append(page.Fields, input(in, current, kept[in.Name]))
			}
		}
		if len(page.Fields) > 0 {
			pages = append(pages, page)
		}
	}
	return pages
}

// RequiredPages returns the pages with only the required fields that have no value yet: those
// that a command asks for without --interactive.
func RequiredPages(pages []Page) []Page {
	var needed []Page
	for _, p := range pages {
		p.Fields = slices.DeleteFunc(slices.Clone(p.Fields), func(f Field) bool { return !f.Required || f.Value != "" })
		if len(p.Fields) > 0 {
			needed = append(needed, p)
		}
	}
	return needed
}

// groups returns the declared groups, followed by undeclared groups that inputs name.
func groups(config api.AppConfig) []api.DeclaredGroup {
	all := slices.Clone(config.Groups)
	for _, in := range config.Inputs {
		if !slices.ContainsFunc(all, func(g api.DeclaredGroup) bool { return g.Name == in.Group }) {
			all = append(all, api.DeclaredGroup{Name: in.Group})
		}
	}
	return all
}

func input(in api.DeclaredInput, current map[string]string, kept bool) Field {
	f := Field{
		Name: in.Name, Title: in.DisplayName, Description: in.Description, Type: in.Type, Sensitive: in.Sensitive,
		Check: (&appconfig.Input{Type: in.Type}).Check,
	}
	value, has := current[in.Name]
	switch {
	case has:
		f.Value = value
	case in.Default != nil:
		f.Value = *in.Default
	}
	f.Required = in.Required && in.Default == nil && !kept
	if kept {
		f.Description = sentence(f.Description, "Leave empty to keep the current value.")
	}
	if len(in.ReadBy) > 0 {
		f.Description = sentence(f.Description, "Used by "+strings.Join(in.ReadBy, ", ")+".")
	}
	return f
}

// Parameters returns the page for the declared inputs of an action, without the inputs in given.
func Parameters(a api.DeclaredAction, given map[string]string) []Page {
	page := Page{Title: a.Name, Description: a.Description}
	for _, p := range a.Inputs {
		if _, known := given[p.Name]; known {
			continue
		}
		f := Field{
			Name: p.Name, Description: p.Description, Type: p.Type, Required: p.Required && p.Default == nil,
			Check: (&appconfig.ActionInput{Type: p.Type}).Check,
		}
		if p.Default != nil {
			f.Value = *p.Default
		}
		page.Fields = append(page.Fields, f)
	}
	if len(page.Fields) == 0 {
		return nil
	}
	return []Page{page}
}

// sentence appends a sentence to a description that may lack its full stop.
func sentence(before, next string) string {
	before = strings.TrimSpace(before)
	if before == "" {
		return next
	}
	if !strings.HasSuffix(before, ".") {
		before += "."
	}
	return before + " " + next
}
