package reference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// writeKeyTable writes a table of the keys of a kind and their descendants. It links to the
// sections of keys that are described elsewhere: the keys that all components have,
// tables that are separate kinds, and the blocks that many kinds have in common.
func writeKeyTable(b *strings.Builder, keys []format.Key, k format.Kind) {
	var rows, unsupported []string
	common := componentKeys(k)
	var add func(keys []format.Key)
	add = func(keys []format.Key) {
		for _, key := range keys {
			switch {
			case slices.Contains(common, key.Path):
			case key.Unsupported || key.Removed:
				unsupported = append(unsupported, fmt.Sprintf("`%s` (%s)", key.Path, text(key.Hint)))
			default:
				rows = append(rows, formatKeyRow(key))
				if sectionFor(key) == "" && k.Name != "full" {
					add(key.Keys)
				}
			}
		}
	}
	add(keys)
	if rows != nil {
		fmt.Fprintf(b, "\n| key | type | required, default | meaning |\n|---|---|---|---|\n%s", strings.Join(rows, ""))
	}
	if unsupported != nil {
		fmt.Fprintf(b, "\nNo keys of the format, although people write them: %s.\n", strings.Join(unsupported, ", "))
	}
	if common != nil {
		b.WriteString("\nBesides, the keys that all components have: [component](#component).\n")
	}
	if k.OpenEnded {
		b.WriteString("\nIts keys are not checked.\n")
	}
}

// componentKeys returns the keys that a kind of component has in common with all others.
func componentKeys(k format.Kind) []string {
	if k.Component == "" {
		return nil
	}
	var names []string
	component, _ := format.FindKind("component")
	for _, key := range component.Keys() {
		names = append(names, key.Name)
	}
	return names
}

func formatKeyRow(k format.Key) string {
	requirement := ""
	switch {
	case k.Required:
		requirement = "required"
	case k.Default != "":
		requirement = "`" + strings.ReplaceAll(k.Default, "|", `\|`) + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", k.Path, k.Type.Describe(), requirement, describeKey(k))
}

// describeKey returns the description of a key and of its constraints.
func describeKey(k format.Key) string {
	sentences := []string{cell(k.Description)}
	add := func(is bool, form string, a ...any) {
		if is {
			sentences = append(sentences, fmt.Sprintf(form, a...))
		}
	}
	add(k.Values != nil || k.Suggested != nil, "One of %s.", codeList(slices.Concat(k.Values, k.Suggested)))
	for _, old := range slices.Sorted(maps.Keys(k.OldValues)) {
		add(true, "`%s` is an older spelling of `%s`.", old, k.OldValues[old])
	}
	add(k.Format != "", "%s.", formats[k.Format])
	add(k.OldNames != nil, "Older: %s.", codeList(k.OldNames))
	add(k.Template, "[Template](#templates).")
	add(k.File, "[File](#references-to-files).")
	add(k.Unordered || k.SortedBy != "", "The order means nothing.")
	link := sectionFor(k)
	if link == "break-glass-role" {
		add(true, "Its keys: [role](#role), without `type`.")
	} else {
		add(link != "", "Its keys: [%s](#%s).", link, anchor(link))
	}
	add(k.NoEffectYet, "*No effect yet.*")
	return strings.Join(sentences, " ")
}

// formats describes the formats of texts.
var formats = map[string]string{
	format.FormatDuration: "A duration such as `90s`, `5m` or `1h`",
	format.FormatCron:     "Minute, hour, day of the month, month, day of the week, in UTC",
	format.FormatRegexp:   "A regular expression of RE2",
	format.FormatURL:      "An http or https address",
	format.FormatJSON:     "JSON",
}

func codeList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "`" + w + "`"
		if w == "" {
			quoted[i] = "nothing"
		}
	}
	return strings.Join(quoted, ", ")
}

// repositoryHeading is the heading of the block about repositories.
const repositoryHeading = "public_repo, connected_repo"

// sectionFor returns the heading of the section that describes the keys below a key; empty
// if they are described in place.
func sectionFor(k format.Key) string {
	switch k.Name {
	case "public_repo", "connected_repo":
		return repositoryHeading
	case "operation_roles":
		if k.Type == format.Tables {
			return k.Name
		}
	}
	if k.Keys == nil {
		return ""
	}
	for _, kind := range format.Kinds() {
		if kind.Component == "" && !kind.OpenEnded && slices.EqualFunc(kind.Keys(), k.Keys,
			func(a, b format.Key) bool { return a.Name == b.Name && a.Description == b.Description }) {
			return kind.Name
		}
	}
	return ""
}

// anchor returns the link target of a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(strings.ReplaceAll(heading, ",", ""), " ", "-")
}
