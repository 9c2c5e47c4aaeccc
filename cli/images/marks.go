package images

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/render"
)

func keysOf(m map[string]any) iter.Seq[string] { return maps.Keys(m) }

// markForm is a placeholder in a rendered text: short, and valid where a name or a tag is.
var markForm = lazyregexp.New(`nuonref([0-9]+)x`)

// marks renders templates with placeholders for what only an install knows.
type marks struct {
	config *appconfig.App
	paths  []render.Path
}

// render renders a text. The error names what cannot be rendered without an install.
func (m *marks) render(name, text string) (string, error) {
	parsed, err := render.Parse(name, text)
	if err != nil {
		return "", err
	}
	refs, root := parsed.Refs(), render.Tree{}
	for _, path := range refs {
		inner := slices.ContainsFunc(refs, func(p render.Path) bool { return len(p) > len(path) && p.HasPrefix(path...) })
		if !inner {
			root.Set(path, m.value(path))
		}
	}
	rendered, err := parsed.Execute(root)
	if err != nil {
		return "", fmt.Errorf("it cannot be rendered without an install: %w", err)
	}
	return rendered, nil
}

// value returns the default of an input, or a placeholder.
func (m *marks) value(path render.Path) any {
	if len(path) == 3 && path.HasPrefix("inputs", "inputs") {
		if in, found := m.config.Input(path[2]); found {
			if in.Default != nil {
				return *in.Default
			}
			switch in.Type {
			case "number":
				return "1"
			case "bool":
				return "true"
			}
		}
	}
	i := slices.IndexFunc(m.paths, func(p render.Path) bool { return slices.Equal(p, path) })
	if i < 0 {
		i, m.paths = len(m.paths), append(m.paths, path)
	}
	return fmt.Sprintf("nuonref%dx", i)
}

// in returns the paths whose placeholders a text has.
func (m *marks) in(text string) []render.Path {
	var found []render.Path
	for _, match := range markForm.FindAllStringSubmatch(text, -1) {
		if i, err := strconv.Atoi(match[1]); err == nil && i < len(m.paths) {
			found = append(found, m.paths[i])
		}
	}
	return found
}

// restore replaces the placeholders of a text by templates.
func (m *marks) restore(text string) string {
	for i, path := range m.paths {
		text = strings.ReplaceAll(text, fmt.Sprintf("nuonref%dx", i), "{{.nuon."+path.String()+"}}")
	}
	return text
}
