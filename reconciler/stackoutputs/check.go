package stackoutputs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
)

// Limits of the outputs of one install.
const (
	maxOutputs      = 200
	maxValueBytes   = 64 << 10  // of one value, as JSON
	maxTotalBytes   = 256 << 10 // of all values and names
	maxDepth        = 10        // of lists and maps in each other
	maxStackVersion = 128       // bytes
)

// name is what Terraform, too, allows as the name of an output.
var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,127}$`)

// Check returns everything that is wrong with a change, in one error, and warnings about what is likely a mistake.
// configs are those of the install's release and of the newest one: an output of either is known.
func Check(c Change, marked []string, configs ...*appconfig.App) (warnings []string, err error) {
	k := checker{marked: marked, configs: configs}
	if len(c.StackVersion) > maxStackVersion || strings.ContainsFunc(c.StackVersion, isControl) {
		k.addError("the stack version is longer than %d bytes, or has a control character", maxStackVersion)
	}
	for _, n := range slices.Sorted(maps.Keys(c.Set)) {
		k.checkOutput(n, c.Set[n])
	}
	for _, n := range c.Unset {
		if _, both := c.Set[n]; both {
			k.addError("stack output %.60q is both set and unset", n)
		}
	}
	return k.warnings, k.err()
}

type checker struct {
	marked   []string // outputs that their source marks as sensitive
	configs  []*appconfig.App
	problems []api.Diagnostic
	warnings []string
}

func (k *checker) addError(format string, a ...any) {
	k.problems = append(k.problems,
		api.Diagnostic{File: "stack outputs", Severity: "error", Message: fmt.Sprintf(format, a...)})
}

func (k *checker) err() error {
	if len(k.problems) == 0 {
		return nil
	}
	return &refusal.Error{
		Kind: refusal.Invalid, Code: "bad_stack_outputs",
		Title: "these stack outputs cannot be stored", Diagnostics: k.problems,
	}
}

// checkOutput reports at most one problem of an output. No message contains its value.
func (k *checker) checkOutput(n string, raw json.RawMessage) {
	if !name.MatchString(n) {
		k.addError("a stack output cannot be named %.60q: use letters, digits, _ and -, at most 128, the first a letter or _",
			n)
		return
	}
	if len(raw) > maxValueBytes {
		k.addError("stack output %s has %d bytes, and at most %d are stored", n, len(raw), maxValueBytes)
		return
	}
	value, err := decode(raw)
	if err != nil {
		k.addError("stack output %s: %v", n, err)
		return
	}
	if slices.Contains(k.marked, n) {
		k.addError("stack output %s is marked as sensitive; %s", n, secretRemedy)
		return
	}
	if diff.LooksSecret(n, value) {
		k.addError("stack output %s looks like a secret; %s", n, secretRemedy)
		return
	}
	if wrong := appconfig.CheckStackOutput(n, value); wrong != "" {
		k.addError("stack output %s %s", n, wrong)
		return
	}
	k.checkKnown(n)
}

const secretRemedy = "stack outputs are stored and shown in plain text: report the ARN or the id of the secret " +
	"instead, or make it a sensitive input"

// checkKnown reports an output that the app's stack does not have.
func (k *checker) checkKnown(n string) {
	var known []string
	open, read := false, false
	for _, config := range k.configs {
		names, others := config.StackOutputs()
		known, open = append(known, names...), open || others
		_, reads := config.StackOutputsRead()[n]
		read = read || reads
	}
	switch {
	case slices.Contains(known, n), read && open:
	case !open:
		remedy := diagnostic.DidYouMean(n, known)
		if remedy == "" {
			slices.Sort(known)
			remedy = "it has " + strings.Join(slices.Compact(known), ", ")
		}
		k.addError("the app's stack has no output %s; %s", n, remedy)
	default:
		k.warnings = append(k.warnings, "no template of the app reads stack output "+n)
	}
}

// decode reads a value and refuses what templates or the database cannot hold.
func decode(raw json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, fmt.Errorf("its value is not JSON: %w", err)
	}
	if decoder.More() {
		return nil, fmt.Errorf("its value is more than one JSON value")
	}
	return v, storable(v, 0)
}

func storable(v any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("its value is nested more than %d levels deep", maxDepth)
	}
	switch v := v.(type) {
	case nil:
		return fmt.Errorf("null is no value; leave it out, or unset the output")
	case string:
		if strings.ContainsRune(v, 0) {
			return fmt.Errorf("its value contains a NUL character")
		}
	case json.Number:
		if _, err := strconv.ParseFloat(v.String(), 64); err != nil {
			return fmt.Errorf("the number %.40s is too large", v.String())
		}
	case []any:
		for _, item := range v {
			if err := storable(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range v {
			if strings.ContainsRune(key, 0) {
				return fmt.Errorf("a key of its value contains a NUL character")
			}
			if err := storable(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSize bounds the outputs after a change.
func checkSize(all Outputs) error {
	bytes := 0
	for n, o := range all {
		bytes += len(n) + len(o.Value) + len(o.Reported)
	}
	switch {
	case len(all) > maxOutputs:
		return refusal.New(refusal.Invalid, "too_many_stack_outputs",
			fmt.Sprintf("the install would have %d stack outputs, and at most %d are stored", len(all), maxOutputs),
			"Unset those that no template reads.")
	case bytes > maxTotalBytes:
		return refusal.New(refusal.Invalid, "too_many_stack_outputs",
			fmt.Sprintf("the stack outputs of the install would have %d bytes, and at most %d are stored", bytes,
				maxTotalBytes),
			"Unset those that no template reads.")
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
