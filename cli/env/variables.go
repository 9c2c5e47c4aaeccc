package env

import (
	"os"
	"slices"
	"strconv"
)

// The environment variables that every command reads, beside those of a context.
const (
	output = "NUON_OUTPUT"
	debug  = "NUON_DEBUG"
)

// Variables are what nuon reads from its environment, for the reference.
var Variables = []struct{ Name, Means string }{
	{"NUON_URL", "address of the control API; goes before the context's"},
	{"NUON_TOKEN", "token for it; goes before the context's. With NUON_URL no context is needed, as in CI"},
	{"NUON_CONTEXT", "name of the context to use; --context goes before it"},
	{"NUON_CONFIG", "file with the contexts; by default nuon/config.toml in the platform's place for configuration"},
	{output, "output format where -o is not given: table, json, yaml or name"},
	{debug, "1 shows each exchange with the control plane on stderr, as --debug does"},
	{"NUON_PAGER", "what `nuon diff` shows long output with on a terminal; goes before PAGER, and less is used without either. Empty, or cat, is none"},
	{"NO_COLOR", "any value: no colours (no-color.org)"},
}

// Output is the output format that the environment asks for, and whether it does.
func Output() (string, bool) {
	v := os.Getenv(output)
	return v, v != ""
}

// Debugging says whether the environment asks for what --debug does. Off is what says so, and nothing.
func Debugging() bool {
	v := os.Getenv(debug)
	on, err := strconv.ParseBool(v)
	return on || err != nil && !slices.Contains([]string{"", "off", "no"}, v)
}
