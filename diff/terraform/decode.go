package terraform

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// maxJSONDepth is the maximum nesting of a plan; the decoder allows no more.
const maxJSONDepth = 10_000

// decode reads the plan section by section, and lists element by element. The largest sections, such
// as the prior state, are never in memory as a whole: only their sensitive values are stored. It
// refuses duplicate names in an object, of which one could hide the other, and invalid UTF-8.
func decode(r *limited) (*plan, error) {
	d := decoder{from: r, dec: jsontext.NewDecoder(r), plan: &plan{}}
	if err := d.document(); err != nil {
		return nil, err
	}
	return d.plan, d.plan.check()
}

type decoder struct {
	from *limited
	dec  *jsontext.Decoder
	plan *plan
	// reader builds values from elements that are read one at a time.
	reader elementReader
}

func (d *decoder) document() error {
	t, err := d.dec.ReadToken()
	if err != nil {
		return d.fail("", err)
	}
	if t.Kind() != '{' {
		return fmt.Errorf("%w: it is not a JSON object; make it with `terraform show -json PLANFILE`", ErrNotPlan)
	}
	for d.dec.PeekKind() != '}' {
		key, err := d.key()
		if err != nil {
			return err
		}
		if err := d.section(key); err != nil {
			return d.fail(key, err)
		}
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return d.fail("", err)
	}
	switch _, err := d.dec.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return d.fail("", err)
	default:
		return fmt.Errorf("%w: there is more data after its end, at byte %d; pass one plan only", ErrNotPlan,
			d.dec.InputOffset())
	}
}

// key reads the name of the next section.
func (d *decoder) key() (string, error) {
	t, err := d.dec.ReadToken()
	var syntax *jsontext.SyntacticError
	if errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax) {
		return "", fmt.Errorf("%w: section %.40q occurs twice", ErrNotPlan, syntax.JSONPointer.LastToken())
	}
	if err != nil {
		return "", d.fail("", err)
	}
	return t.String(), nil
}

func (d *decoder) section(key string) error {
	p := d.plan
	if other, ok := otherDocuments[key]; ok {
		p.other = other
		return d.dec.SkipValue()
	}
	p.sections = p.sections || planSections[key]
	switch key {
	case "resource_changes":
		return d.elements(key, &p.resources, false)
	case "resource_drift":
		return d.elements(key, &p.drift, false)
	case "deferred_changes":
		return d.elements(key, &p.deferred, true)
	case "configuration":
		return d.inside("root_module", func() error { return d.module("", 0) })
	case "planned_values":
		return d.values()
	case "prior_state":
		return d.inside("values", d.values)
	}
	read := map[string]func(*plan, diff.Raw) error{
		"format_version":              func(p *plan, v diff.Raw) (err error) { p.formatVersion, err = textOf(v); return err },
		"variables":                   readVariables,
		"output_changes":              readOutputs,
		"relevant_attributes":         readRelevant,
		"checks":                      readChecks,
		"condition_results":           readConditions,
		"action_invocations":          readInvocations,
		"deferred_action_invocations": readDeferredInvocations,
		"applyable":                   func(p *plan, v diff.Raw) (err error) { p.applyable, err = flagOf(v); return err },
		"complete":                    func(p *plan, v diff.Raw) (err error) { p.complete, err = flagOf(v); return err },
		"errored":                     readErrored,
	}[key]
	if read == nil {
		return d.dec.SkipValue()
	}
	v, err := tree.ReadJSON(d.dec, maxJSONDepth)
	if err != nil {
		return err
	}
	return read(p, v)
}

func readErrored(p *plan, v diff.Raw) error {
	b, err := flagOf(v)
	p.errored = b != nil && *b
	return err
}

func readVariables(p *plan, v diff.Raw) (err error) {
	p.variables = map[string]diff.Raw{}
	for name, variable := range each(v, &err) {
		p.variables[name] = fieldsOf(variable, &err).get("value")
	}
	return err
}

func readOutputs(p *plan, v diff.Raw) (err error) {
	p.outputs = map[string]change{}
	for name, output := range each(v, &err) {
		p.outputs[name] = changeOf(output, &err)
	}
	return err
}

func readRelevant(p *plan, v diff.Raw) (err error) {
	for a := range items(v, &err) {
		f := fieldsOf(a, &err)
		p.relevant = append(p.relevant, relevant{f.text("resource"), pathOf(f.get("attribute"), &err)})
	}
	return err
}

// positioned is an error at an offset of the plan other than the decoder's position.
type positioned struct {
	offset int64
	err    error
}

func (p positioned) Error() string { return p.err.Error() }
func (p positioned) Unwrap() error { return p.err }

// fail adds the position to an error about invalid input. It never uses the decoder's own message,
// which can quote names.
func (d *decoder) fail(section string, err error) error {
	at := d.dec.InputOffset()
	var other positioned
	if errors.As(err, &other) {
		at = other.offset
	}
	where := fmt.Sprintf("at byte %d", at)
	if section != "" {
		where = fmt.Sprintf("in %.40s, %s", diff.EscapeText(section), where)
	}
	switch {
	case errors.Is(err, ErrNotPlan):
		return err
	case d.from.failed != nil && errors.Is(d.from.failed, ErrNotPlan):
		return d.from.failed
	case d.from.failed != nil:
		return fmt.Errorf("read plan, %s: %w", where, d.from.failed)
	case errors.Is(err, errWrongType):
		return fmt.Errorf("%w: a field has the wrong type, %s", ErrNotPlan, where)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends too early, %s; make it again with `terraform show -json PLANFILE`", ErrNotPlan, where)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("%w: a name occurs twice in one object, %s; create it with `terraform show -json PLANFILE`",
			ErrNotPlan, where)
	}
	return fmt.Errorf("%w: it is not valid JSON, %s; make it with `terraform show -json PLANFILE`", ErrNotPlan, where)
}
