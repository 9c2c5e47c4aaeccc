package helmsdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"helm.sh/helm/v3/pkg/chart"
)

// SchemaError lists the values that a chart's values.schema.json does not allow.
type SchemaError struct {
	// Violations, sorted: "redis.port: got string, want integer". They omit values as
	// far as the validator allows.
	Violations []string
}

// Error lists all violations.
func (s *SchemaError) Error() string {
	return fmt.Sprintf("the chart does not allow these values: %s; correct the values", strings.Join(s.Violations, "; "))
}

// maxViolations bounds the violations listed in an error.
const maxViolations = 50

// checkSchemas checks the values against the schemas of the chart and of all its dependencies.
func checkSchemas(loaded *chart.Chart, values any, warn func(string, ...any)) error {
	plain, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("write the values: %w", err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(plain))
	if err != nil {
		return fmt.Errorf("read the values: %w", err)
	}
	found := &SchemaError{}
	if err := found.check(loaded, instance, nil, warn); err != nil {
		return err
	}
	if len(found.Violations) == 0 {
		return nil
	}
	slices.Sort(found.Violations)
	found.Violations = slices.Compact(found.Violations)
	if more := len(found.Violations) - maxViolations; more > 0 {
		found.Violations = append(found.Violations[:maxViolations], fmt.Sprintf("and %d more", more))
	}
	return found
}

func (s *SchemaError) check(c *chart.Chart, instance any, at []string, warn func(string, ...any)) error {
	if c.Schema != nil {
		if err := s.checkOne(c, instance, at, warn); err != nil {
			return err
		}
	}
	table, _ := instance.(map[string]any)
	for _, d := range c.Dependencies() {
		values := table[d.Name()]
		if values == nil {
			continue
		}
		if err := s.check(d, values, append(slices.Clone(at), d.Name()), warn); err != nil {
			return err
		}
	}
	return nil
}

// checkOne checks the values against one schema.
func (s *SchemaError) checkOne(c *chart.Chart, instance any, at []string, warn func(string, ...any)) error {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Schema))
	if err != nil {
		return fmt.Errorf("values.schema.json of the chart %s is not JSON: %s; correct it", c.Name(), bounded(err))
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noRemoteLoader{chart: c.Name(), warn: warn})
	const name = "chart:///values.schema.json"
	if err := compiler.AddResource(name, schema); err != nil {
		return fmt.Errorf("values.schema.json of the chart %s: %s; correct it", c.Name(), bounded(err))
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		return fmt.Errorf("values.schema.json of the chart %s: %s; correct it", c.Name(), bounded(err))
	}
	switch err := compiled.Validate(instance).(type) { //nolint:errorlint // the validator gives it bare
	case nil:
	case *jsonschema.ValidationError:
		s.add(err, at)
	default:
		return fmt.Errorf("check the values of the chart %s: %s; correct its values.schema.json", c.Name(), bounded(err))
	}
	return nil
}

// noRemoteLoader is a loader that follows no reference out of the chart, neither to the
// runner's files nor to the network.
type noRemoteLoader struct {
	chart string
	warn  func(string, ...any)
}

// Load returns a schema that allows everything.
func (i noRemoteLoader) Load(url string) (any, error) {
	i.warn("values.schema.json of the chart %s refers to %s, outside of the chart; what that demands is not checked",
		i.chart, boundedText(url, 200))
	return true, nil
}

// printer formats the validator's findings.
var printer = message.NewPrinter(language.English)

// add collects the leaves of the tree of causes.
func (s *SchemaError) add(err *jsonschema.ValidationError, at []string) {
	if len(err.Causes) > 0 {
		for _, cause := range err.Causes {
			s.add(cause, at)
		}
		return
	}
	where := strings.Join(append(slices.Clone(at), err.InstanceLocation...), ".")
	if where == "" {
		where = "at the root"
	}
	s.Violations = append(s.Violations, boundedText(where+": "+describeViolation(err.ErrorKind), 300))
}

// describeViolation describes a finding without the value, where the value is text.
func describeViolation(found jsonschema.ErrorKind) string {
	switch k := found.(type) {
	case *kind.Pattern:
		return fmt.Sprintf("does not match the pattern %q", k.Want)
	case *kind.Format:
		return "is not a valid " + k.Want
	}
	return found.LocalizedString(printer)
}
