package reference

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/render"
)

// configPage is the hand-written part of the page about the format. Its comments are
// replaced by generated parts.
//
//go:embed config.md
var configPage string

// Config writes docs/config.md, the reference of the app config format, from the types
// that parse it.
func Config(w io.Writer) error {
	parts := strings.NewReplacer("<!-- files -->\n", fileTable(), "<!-- functions -->\n", functionLine(),
		"<!-- rules -->\n", ruleTable(), "<!-- kinds -->\n", kindSections(), "<!-- paths -->\n", pathTable(),
		"<!-- stack outputs -->\n", stackTable(), "<!-- platform variables -->\n", platformTable())
	_, err := parts.WriteString(w, configPage)
	return err
}

func fileTable() string {
	var b strings.Builder
	b.WriteString("| files | kind | content |\n|---|---|---|\n")
	for _, k := range format.Kinds() {
		if k.Component == "" {
			fmt.Fprintf(&b, "| %s | [%s](#%s) | %s%s |\n", places(k), k.Name, k.Name, cell(k.Description), effect(k))
		}
	}
	return b.String()
}

// effect returns the note for a kind that has no effect yet.
func effect(k format.Kind) string {
	if k.NoEffectYet {
		return " *No effect yet.*"
	}
	return ""
}

func places(k format.Kind) string { return "`" + strings.Join(k.Paths, "`, `") + "`" }

func functionLine() string { return "`" + strings.Join(render.Functions(), "`, `") + "`.\n" }

func ruleTable() string {
	var b strings.Builder
	b.WriteString("| rule | requirement | |\n|---|---|---|\n")
	for _, r := range appconfig.Rules() {
		mark := ""
		if r.Warns {
			mark = "always a warning"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, cell(r.Summary), mark)
	}
	return b.String()
}

const stackOutputs = "install_stack.outputs."

// pathTable lists the paths that templates can read, except for the outputs that only the stacks of one cloud have.
func pathTable() string {
	var b strings.Builder
	b.WriteString("| below `.nuon` | type | value | filled by |\n|---|---|---|---|\n")
	for _, p := range appconfig.TemplatePaths() {
		if p.Cloud != "" && strings.HasPrefix(p.Path, stackOutputs) || p.Never != "" {
			continue
		}
		about, filled := cell(p.About), p.From.Filled()
		if len(p.Kinds) > 0 {
			about += "; of `" + strings.Join(p.Kinds, "`, `") + "`"
		}
		if p.State {
			about += " (*state*)"
		}
		if p.NotYet {
			filled = "*nothing yet*: " + filled
		}
		fmt.Fprintf(&b, "| `.%s` | %s | %s | %s |\n", p.Path, p.Type, about, filled)
	}
	return b.String()
}

// stackTable lists the outputs that only the stacks of one cloud have.
func stackTable() string {
	outputs := map[string][]string{}
	for _, p := range appconfig.TemplatePaths() {
		name, is := strings.CutPrefix(p.Path, stackOutputs)
		if !is || p.Cloud == "" {
			continue
		}
		if p.Type != appconfig.PathText {
			name += "` (" + string(p.Type) + ")"
		} else {
			name += "`"
		}
		outputs[p.Cloud] = append(outputs[p.Cloud], "`"+name)
	}
	var b strings.Builder
	b.WriteString("| cloud | outputs |\n|---|---|\n")
	for _, cloud := range []struct{ key, label string }{{"aws", "AWS"}, {"azure", "Azure"}, {"gcp", "GCP"}} {
		fmt.Fprintf(&b, "| %s | %s |\n", cloud.label, strings.Join(outputs[cloud.key], ", "))
	}
	return b.String()
}

// platformTable lists the variables that nuon passes to sandboxes.
func platformTable() string {
	var b strings.Builder
	b.WriteString("| variable | on | value |\n|---|---|---|\n")
	for _, v := range appconfig.PlatformVariables() {
		value := v.Value
		if v.Text != "" {
			value = v.Text
		} else if !strings.Contains(value, "{{") {
			value = ".nuon." + value
		}
		cloud := map[string]string{"": "all", "aws": "AWS", "azure": "Azure", "gcp": "GCP"}[v.Cloud]
		fmt.Fprintf(&b, "| `%s` | %s | `%s` |\n", v.Name, cloud, value)
	}
	return b.String()
}

func kindSections() string {
	var b strings.Builder
	b.WriteString("## The kinds of file\n")
	b.WriteString(blocks())
	for _, k := range format.Kinds() {
		fmt.Fprintf(&b, "\n### %s\n\n%s", k.Name, places(k))
		if k.Component != "" {
			fmt.Fprintf(&b, " with `type = \"%s\"`", k.Component)
		}
		fmt.Fprintf(&b, "\n\n%s%s\n\n```toml\n%s```\n", text(k.Description), effect(k), k.ExampleFile())
		writeKeyTable(&b, k.Keys(), k)
	}
	return b.String()
}

// blocks describes the tables that many kinds have in common.
func blocks() string {
	var b strings.Builder
	sandbox, _ := format.FindKind("sandbox")
	for _, block := range []struct{ title, path, about string }{
		{"public_repo, connected_repo", "public_repo", "The git repository with the code. Set exactly one of the two, if " +
			"one is required: nuon clones `public_repo` without " +
			"credentials, and `connected_repo` with the org's credentials."},
		{"operation_roles", "operation_roles", "The roles of operations."},
	} {
		key, _ := sandbox.Key(block.path)
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n```toml\n%s```\n", block.title, block.about, sandbox.Snippet(block.path))
		writeKeyTable(&b, rooted(key), format.Kind{})
	}
	return b.String()
}

// rooted returns the keys of a table with paths relative to the table.
func rooted(table format.Key) []format.Key {
	keys := slices.Clone(table.Keys)
	for i := range keys {
		keys[i].Path = keys[i].Name
	}
	return keys
}
