package terraform

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// plan is the part of a plan's JSON that a report needs. The form is described at
// https://developer.hashicorp.com/terraform/internals/json-format.
type plan struct {
	formatVersion string
	variables     map[string]struct {
		Value diff.Raw `json:"value"`
	}
	resources []resource
	drift     []resource
	deferred  []deferred
	outputs   map[string]change
	config    config
	applyable *bool
	complete  *bool
	errored   bool
}

type resource struct {
	Address         string  `json:"address"`
	PreviousAddress string  `json:"previous_address"`
	ModuleAddress   string  `json:"module_address"`
	Mode            string  `json:"mode"`
	Type            string  `json:"type"`
	Name            string  `json:"name"`
	Deposed         string  `json:"deposed"`
	ActionReason    string  `json:"action_reason"`
	Change          *change `json:"change"`
}

type change struct {
	Actions         []string   `json:"actions"`
	Before          diff.Raw   `json:"before"`
	After           diff.Raw   `json:"after"`
	AfterUnknown    diff.Raw   `json:"after_unknown"`
	BeforeSensitive diff.Raw   `json:"before_sensitive"`
	AfterSensitive  diff.Raw   `json:"after_sensitive"`
	Importing       *importing `json:"importing"`
	ReplacePaths    [][]any    `json:"replace_paths"`
}

type importing struct {
	ID      string `json:"id"`
	Unknown bool   `json:"unknown"`
}

type deferred struct {
	Reason string    `json:"reason"`
	Change *resource `json:"resource_change"`
}

type config struct {
	RootModule struct {
		Variables map[string]struct {
			Sensitive bool `json:"sensitive"`
		} `json:"variables"`
	} `json:"root_module"`
}

// skipped takes a section that no report needs, without building it.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

// decode reads the plan section by section, and lists element by element, so that the largest sections (the whole prior state,
// for one) are never held as values.
func decode(r io.Reader) (*plan, error) {
	d := decoder{dec: json.NewDecoder(r), plan: &plan{}, seen: map[string]bool{}}
	if err := d.document(); err != nil {
		return nil, err
	}
	return d.plan, checkVersion(d.plan.formatVersion)
}

type decoder struct {
	dec  *json.Decoder
	plan *plan
	seen map[string]bool
}

func (d *decoder) document() error {
	if err := d.open('{'); err != nil {
		return err
	}
	for d.dec.More() {
		key, err := d.key()
		if err != nil {
			return err
		}
		if err := d.section(key); err != nil {
			return err
		}
	}
	if _, err := d.dec.Token(); err != nil {
		return d.fail("", err)
	}
	switch _, err := d.dec.Token(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return d.fail("", err)
	default:
		return fmt.Errorf("%w: there is more after its end, at byte %d; give one plan only", ErrNotPlan, d.dec.InputOffset())
	}
}

// key reads the name of the next section. A section that comes twice could hide the first one, so it is refused.
func (d *decoder) key() (string, error) {
	token, err := d.dec.Token()
	if err != nil {
		return "", d.fail("", err)
	}
	key, _ := token.(string)
	if d.seen[key] {
		return "", fmt.Errorf("%w: section %.40q comes twice", ErrNotPlan, key)
	}
	d.seen[key] = true
	return key, nil
}

func (d *decoder) section(key string) error {
	p := d.plan
	switch key {
	case "resource_changes":
		return list(d, key, &p.resources)
	case "resource_drift":
		return list(d, key, &p.drift)
	case "deferred_changes":
		return list(d, key, &p.deferred)
	}
	into := map[string]any{
		"format_version": &p.formatVersion,
		"variables":      &p.variables,
		"output_changes": &p.outputs,
		"configuration":  &p.config,
		"applyable":      &p.applyable,
		"complete":       &p.complete,
		"errored":        &p.errored,
	}[key]
	if into == nil {
		into = &skipped{}
	}
	return d.fail(key, d.dec.Decode(into))
}

// list reads an array one element at a time; null is an empty one.
func list[T any](d *decoder, key string, out *[]T) error {
	token, err := d.dec.Token()
	if err != nil {
		return d.fail(key, err)
	}
	if token == nil {
		return nil
	}
	if token != json.Delim('[') {
		return fmt.Errorf("%w: %s is not a list", ErrNotPlan, key)
	}
	for d.dec.More() {
		var element T
		if err := d.dec.Decode(&element); err != nil {
			return d.fail(key, err)
		}
		*out = append(*out, element)
	}
	_, err = d.dec.Token()
	return d.fail(key, err)
}

func (d *decoder) open(want json.Delim) error {
	token, err := d.dec.Token()
	if err != nil {
		return d.fail("", err)
	}
	if token != want {
		return fmt.Errorf("%w: it is not a JSON object; make it with `terraform show -json PLANFILE`", ErrNotPlan)
	}
	return nil
}

// fail says where the input is broken. The decoder's own words are used only where they cannot quote a value.
func (d *decoder) fail(section string, err error) error {
	if err == nil {
		return nil
	}
	where := fmt.Sprintf("at byte %d", d.dec.InputOffset())
	if section != "" {
		where = "in " + section + ", " + where
	}
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, ErrNotPlan):
		return err
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends too early, %s; make it again with `terraform show -json PLANFILE`", ErrNotPlan, where)
	case errors.As(err, &wrongType):
		return fmt.Errorf("%w: a field has the wrong type, %s", ErrNotPlan, where)
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: it is not valid JSON, %s; make it with `terraform show -json PLANFILE`", ErrNotPlan, where)
	}
	return fmt.Errorf("read plan, %s: %w", where, err)
}

// checkVersion takes every minor version of formats 0 and 1: Terraform only adds to them.
func checkVersion(v string) error {
	major, _, _ := strings.Cut(v, ".")
	switch major {
	case "0", "1":
		return nil
	case "":
		return fmt.Errorf("%w: it has no format_version; make it with `terraform show -json PLANFILE`", ErrNotPlan)
	}
	return fmt.Errorf("%w: its format version %.20q is newer than this program; update nuon", ErrNotPlan, v)
}
