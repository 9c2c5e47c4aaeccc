package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	yamlv3 "go.yaml.in/yaml/v3"
)

// maxProblems bounds the problems reported for one chart.
const maxProblems = 20

// Check reports what no values can fix: templates that cannot be parsed, values and a
// schema that cannot be read. It reports all problems at once, each with file and line.
// It checks only the chart's own files, because a dependency may be switched off.
func (c *Chart) Check() error {
	var problems []error
	known := functions()
	for _, file := range c.Files {
		name := path.Join(c.at, file.Path)
		var err error
		switch {
		case strings.HasPrefix(file.Path, "templates/"):
			err = checkTemplate(name, file.Content, known)
		case file.Path == "values.yaml":
			err = checkValues(name, file.Content)
		case file.Path == "values.schema.json":
			err = checkSchema(name, file.Content)
		}
		if err == nil {
			continue
		}
		if problems = append(problems, err); len(problems) == maxProblems {
			break
		}
	}
	return errors.Join(problems...)
}

// checkTemplate parses a template as Helm's engine does.
func checkTemplate(name string, content []byte, known template.FuncMap) error {
	if _, err := template.New(name).Funcs(known).Parse(string(content)); err != nil {
		text := strings.TrimPrefix(err.Error(), "template: ")
		return fmt.Errorf("%s; fix the template", clean(text))
	}
	return nil
}

// functions returns the names of the functions that templates may call: Sprig's,
// except those that read the environment, and Helm's own
// (https://helm.sh/docs/chart_template_guide/function_list). They are never called.
func functions() template.FuncMap {
	known := sprig.TxtFuncMap()
	delete(known, "env")
	delete(known, "expandenv")
	for _, name := range []string{
		"include", "tpl", "required", "lookup", "toYaml", "toYamlPretty", "fromYaml", "fromYamlArray", "toJson", "fromJson",
		"fromJsonArray", "toToml", "fromToml",
	} {
		known[name] = func(...any) string { return "" }
	}
	return known
}

// checkValues returns an error unless the chart's own values are a mapping.
func checkValues(name string, content []byte) error {
	var node yamlv3.Node
	if err := yamlv3.Unmarshal(content, &node); err != nil {
		return yamlError(name, err)
	}
	if len(node.Content) == 0 || node.Content[0].Kind == yamlv3.MappingNode || node.Content[0].Tag == "!!null" {
		return nil
	}
	return fmt.Errorf("%s:%d: values are a mapping, as name: value; this is none", name, node.Content[0].Line)
}

func checkSchema(name string, content []byte) error {
	var schema any
	err := json.Unmarshal(content, &schema)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at := min(int(syntax.Offset), len(content))
		return fmt.Errorf("%s:%d: %s; fix the JSON", name, 1+strings.Count(string(content[:at]), "\n"),
			clean(syntax.Error()))
	}
	return err
}
