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
	{"NUON_URL", "address of the control API; overrides the context's"},
	{"NUON_TOKEN", "token for the control API; overrides the context's. With NUON_URL and NUON_TOKEN no context " +
		"is needed, as in CI"},
	{"NUON_CONTEXT", "name of the context to use; --context overrides it"},
	{"NUON_CONFIG", "file that stores the contexts (default: nuon/config.toml in the user's configuration " +
		"directory)"},
	{output, "default of -o: table, json, yaml or name"},
	{debug, "1 prints requests and responses on stderr, like --debug"},
	{"NUON_PAGER",
		"pager of `nuon diff` for long output on a terminal; overrides PAGER (default: less). Empty, or cat, " +
			"disables paging"},
	{"NO_COLOR", "any value disables color (no-color.org)"},
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
