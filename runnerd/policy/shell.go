package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/namepattern"
)

// maxShellPatterns bounds the patterns of each list of shells, and maxShellPattern the bytes of one.
const maxShellPatterns, maxShellPattern = 100, 500

// check returns an error for patterns that match nothing, or more than their owner may expect.
func (d Debug) check() error {
	for key, patterns := range map[string][]string{"shells": d.Shells, "images": d.Images} {
		if len(patterns) > maxShellPatterns {
			return fmt.Errorf("[debug] has %d %s; write at most %d, with * for any text", len(patterns), key, maxShellPatterns)
		}
		for _, pattern := range patterns {
			if pattern == "" || len(pattern) > maxShellPattern || strings.ContainsFunc(pattern, func(r rune) bool {
				return r <= ' ' || r > '~'
			}) {
				return fmt.Errorf("[debug] has %.60q in %s, which is no name; write names such as \"web\", with * for any text",
					pattern, key)
			}
		}
	}
	if len(d.Images) > 0 && len(d.Shells) == 0 {
		return errors.New("[debug] has images of debug containers and no shells; name the components whose pods they may " +
			"be added to, such as shells = [\"web\"]")
	}
	return nil
}

// CheckShell returns an error unless the owner allows an interactive shell in the pods of a component, and, if an image
// is named, a debug container of it.
func (r Rule) CheckShell(component, image string) error {
	matches := func(patterns []string, name string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return namepattern.Match(pattern, name) })
	}
	switch {
	case component == "":
		return errors.New("the request names no component")
	case !matches(r.Debug.Shells, component):
		return fmt.Errorf("the runner's own file does not allow a shell in the pods of %.60q: it allows %s; its owner "+
			"decides that, with shells in [debug] of the runner file", component, allowedNames(r.Debug.Shells))
	case image != "" && !matches(r.Debug.Images, image):
		return fmt.Errorf("the runner's own file does not allow a debug container of the image %.120q: it allows %s; its "+
			"owner decides that, with images in [debug] of the runner file", image, allowedNames(r.Debug.Images))
	}
	return nil
}

func allowedNames(patterns []string) string {
	if len(patterns) == 0 {
		return "none"
	}
	return strings.Join(patterns, ", ")
}
