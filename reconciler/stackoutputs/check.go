package stackoutputs

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
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
	k := checker{marked: marked, configs: configs, Problems: refusal.Problems{File: "stack outputs"}}
	if len(c.StackVersion) > maxStackVersion || strings.ContainsFunc(c.StackVersion, isControl) {
		k.Addf("the stack version is longer than %d bytes, or has a control character", maxStackVersion)
	}
	for _, n := range slices.Sorted(maps.Keys(c.Set)) {
		k.checkOutput(n, c.Set[n])
	}
	for _, n := range c.Unset {
		if _, both := c.Set[n]; both {
			k.Addf("stack output %.60q is both set and unset", n)
		}
	}
	return k.warnings, k.Err("bad_stack_outputs", "these stack outputs cannot be stored")
}

type checker struct {
	marked  []string // outputs that their source marks as sensitive
	configs []*appconfig.App
	refusal.Problems
	warnings []string
}

// checkOutput reports at most one problem of an output. No message contains its value.
func (k *checker) checkOutput(n string, raw json.RawMessage) {
	if !name.MatchString(n) {
		k.Addf("a stack output cannot be named %.60q: use letters, digits, _ and -, at most 128, the first a letter or _",
			n)
		return
	}
	if len(raw) > maxValueBytes {
		k.Addf("stack output %s has %d bytes, and at most %d are stored", n, len(raw), maxValueBytes)
		return
	}
	value, err := decode(raw)
	if err != nil {
		k.Addf("stack output %s: %v", n, err)
		return
	}
	if slices.Contains(k.marked, n) {
		k.Addf("stack output %s is marked as sensitive; %s", n, secretRemedy)
		return
	}
	if diff.LooksSecret(n, value) {
		k.Addf("stack output %s looks like a secret; %s", n, secretRemedy)
		return
	}
	if wrong := appconfig.CheckStackOutput(n, value); wrong != "" {
		k.Addf("stack output %s %s", n, wrong)
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
		k.Addf("the app's stack has no output %s; %s", n, remedy)
	default:
		k.warnings = append(k.warnings, "no template of the app reads stack output "+n)
	}
}

// decode reads a value, and returns an error for what templates or the database cannot hold.
func decode(raw json.RawMessage) (any, error) {
	v, err := store.DecodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("its value cannot be stored: %w", err)
	}
	return v, checkNesting(v, 0)
}

func checkNesting(v any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("its value is nested more than %d levels deep", maxDepth)
	}
	switch v := v.(type) {
	case nil:
		return fmt.Errorf("null is not a value; omit it, or unset the output")
	case []any:
		for _, item := range v {
			if err := checkNesting(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := checkNesting(item, depth+1); err != nil {
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
