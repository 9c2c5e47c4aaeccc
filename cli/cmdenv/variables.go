package cmdenv

import (
	"os"
	"slices"
	"strconv"
)

// The environment variables that every command reads, in addition to those of a context.
const (
	output = "NUON_OUTPUT"
	debug  = "NUON_DEBUG"
)

// Variables lists the environment variables of nuon, for the reference.
var Variables = []struct{ Name, Means string }{
	{"NUON_URL", "address of the control API; goes before the context's"},
	{"NUON_TOKEN", "token for it; goes before the context's. With NUON_URL no context is needed, as in CI"},
	{"NUON_CONTEXT", "name of the context to use; --context goes before it"},
	{"NUON_CONFIG", "file with the contexts; by default nuon/config.toml in the platform's place for configuration"},
	{output, "output format where -o is not given: table, json, yaml or name"},
	{debug, "1 shows each exchange with the control plane on stderr, as --debug does"},
	{"NUON_PAGER",
		"what `nuon diff` shows long output with on a terminal; goes before PAGER, and less is used without either. Empty, " +
			"or cat, is none"},
	{"NO_COLOR", "any value: no colours (no-color.org)"},
}

// Output returns the output format of NUON_OUTPUT, and whether it is set.
func Output() (string, bool) {
	v := os.Getenv(output)
	return v, v != ""
}

// Debugging reports whether NUON_DEBUG is set to anything but "", "off", "no" or a false boolean.
func Debugging() bool {
	v := os.Getenv(debug)
	on, err := strconv.ParseBool(v)
	return on || err != nil && !slices.Contains([]string{"", "off", "no"}, v)
}
