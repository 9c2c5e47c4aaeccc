// Package envname decides which environment variables an app, an operator or a control plane may
// set for programs that a runner starts.
//
// It owns the list of reserved names: variables by which a shell, the linker, an interpreter, git,
// ssh, a cloud client or the runner itself would run other code, contact another server or act
// under another identity. The list applies to the inputs and the environment of actions, the
// env_vars of components, the environment in a plan's bundle, and that of credential plugins. The
// config format, the control plane and the runner call Check; only the runner's check protects the
// runner.
//
// It does not restrict the variables that a runner's owner passes on with --pass-env, because those
// belong to the owner.
package envname

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

var form = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Valid reports whether name is a POSIX name of an environment variable.
func Valid(name string) bool { return form.MatchString(name) }

// Reserved is the error of Check for a reserved name.
type Reserved struct {
	Name    string
	Why     string // how programs use the variable
	Instead string // what to do instead
}

// Error returns the variable, the reason why it is reserved, and what to do instead.
func (r *Reserved) Error() string {
	return fmt.Sprintf("the environment variable %.60s is reserved: %s; %s", r.Name, r.Why, r.Instead)
}

// Check returns an error if name is not a valid name of an environment variable, and a *Reserved if
// it is reserved. It ignores case, because some shells link path to PATH, and proxies are read in
// both cases.
func Check(name string) error {
	if !Valid(name) {
		return fmt.Errorf("%.60q is no name for an environment variable; use letters, digits and underscores", name)
	}
	if reserved := find(strings.ToUpper(name)); reserved != nil {
		return &Reserved{Name: name, Why: reserved.why, Instead: reserved.instead}
	}
	return nil
}

// CheckValue returns an error if value cannot be the value of the variable name, which Check has
// accepted.
func CheckValue(name, value string) error {
	if strings.ContainsRune(value, 0) {
		return fmt.Errorf("the environment variable %.60s holds a NUL character; remove it", name)
	}
	if isHostNamePart(name) && !hostNamePart.MatchString(value) {
		return fmt.Errorf("the environment variable %.60s becomes part of an address: its value may have letters, digits "+
			"and dashes only",
			name)
	}
	return nil
}

// CheckAll checks every name and value, in the order of the names.
func CheckAll(environ map[string]string) error {
	names := make([]string, 0, len(environ))
	for name := range environ {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := Check(name); err != nil {
			return err
		}
		if err := CheckValue(name, environ[name]); err != nil {
			return err
		}
	}
	return nil
}

// find returns the group that reserves a name in upper case, or nil.
func find(name string) *reservedGroup {
	if slices.Contains(settable, name) {
		return nil
	}
	for i := range groups {
		g := &groups[i]
		if slices.Contains(g.names, name) ||
			slices.ContainsFunc(g.prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			return g
		}
	}
	return nil
}

// hostNamePart matches the names of regions, zones and projects of clouds.
var hostNamePart = lazyregexp.New(`^[A-Za-z0-9-]*$`)

// isHostNamePart reports whether clients build host names from the variable's value.
func isHostNamePart(name string) bool {
	return slices.Contains(locations, strings.ToUpper(name))
}
