package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Command is a pattern of debug commands. Its words are separated by spaces. A word stands for itself, * for one word
// that is no option, and ... at the end for any number of words. Of kubectl's options ... stands for those that select
// and format, and of other programs' options for none. Neither stands for a word that names Secrets or ConfigMaps.
type Command struct{ words []string }

// The words of a pattern that stand for others.
const (
	oneWord  = "*"
	anyWords = "..."
)

// kubectl is the program whose options are known.
const kubectl = "kubectl"

// maxCommand bounds a pattern, in bytes.
const maxCommand = 400

// UnmarshalText accepts a pattern that starts with the name of a program, and of a command of kubectl.
func (c *Command) UnmarshalText(text []byte) error {
	words := strings.Fields(string(text))
	exact := 1
	if len(words) > 0 && words[0] == kubectl {
		exact = 2
	}
	switch {
	case len(text) > maxCommand:
		return fmt.Errorf("a command has %d bytes; write at most %d", len(text), maxCommand)
	case len(words) < exact:
		return fmt.Errorf("%q is no command; write a program and its words, such as \"kubectl get ...\"", text)
	case slices.ContainsFunc(words[:exact], isWildcard):
		return fmt.Errorf("%q allows more than one command can say; start with the name of a program, and of a command of "+
			"kubectl, such as \"kubectl get ...\"", text)
	case slices.Contains(words[:len(words)-1], anyWords):
		return fmt.Errorf("%q has ... before its end; write it as the last word", text)
	}
	c.words = words
	return nil
}

// String returns the pattern.
func (c Command) String() string { return strings.Join(c.words, " ") }

func isWildcard(word string) bool { return word == oneWord || word == anyWords }

// CheckCommand returns an error unless the owner allows a debug command.
func (r Rule) CheckCommand(words []string) error {
	if len(words) == 0 {
		return errors.New("the request has no command")
	}
	for _, pattern := range r.Debug.Commands {
		if matchCommand(strings.Fields(pattern), words) {
			return nil
		}
	}
	allowed := "it allows none"
	if len(r.Debug.Commands) > 0 {
		allowed = "it allows " + strings.Join(r.Debug.Commands, ", ")
	}
	return fmt.Errorf("the runner's own file does not allow the command %.200q: %s; its owner decides that, with "+
		"commands in [debug] of the runner file", strings.Join(words, " "), allowed)
}

// matchCommand reports whether a pattern allows a command.
func matchCommand(pattern, words []string) bool {
	program := words[0]
	for i, p := range pattern {
		switch {
		case p == anyWords:
			return onlySelects(program, words[i:])
		case i >= len(words):
			return false
		case p == oneWord && (strings.HasPrefix(words[i], "-") || namesSecrets(words[i])):
			return false
		case p != oneWord && p != words[i]:
			return false
		}
	}
	return len(words) == len(pattern)
}

// The options of kubectl that select objects and format the output; those in valued take a value. All others, such as
// those that name a server, a user or a file, have to be in a pattern word by word.
var (
	valued = []string{"-n", "--namespace", "-l", "--selector", "-o", "--output", "-c", "--container", "--field-selector",
		"--sort-by", "-L", "--label-columns", "--tail", "--since", "--since-time", "--limit-bytes", "--chunk-size",
		"--revision", "--request-timeout"}
	flags = []string{"-A", "--all-namespaces", "--show-labels", "--no-headers", "-p", "--previous", "--timestamps",
		"--prefix", "--all-containers", "--show-events", "--ignore-not-found", "--containers"}
)

// onlySelects reports whether ... stands for these words of a program.
func onlySelects(program string, words []string) bool {
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if !strings.HasPrefix(word, "-") {
			if namesSecrets(word) {
				return false
			}
			continue
		}
		name, value, attached := strings.Cut(word, "=")
		if !attached && len(word) > 2 && !strings.HasPrefix(word, "--") { // -nNAME
			name, value, attached = word[:2], word[2:], true
		}
		takes := slices.Contains(valued, name)
		switch {
		case program != kubectl, !takes && (attached || !slices.Contains(flags, name)):
			return false
		case takes && !attached && len(words) == 0:
			return false
		case takes && !attached:
			value, words = words[0], words[1:]
		}
		if (name == "-o" || name == "--output") && strings.Contains(strings.Split(value, "=")[0], "file") {
			return false // such as jsonpath-file: it reads a file of the runner
		}
	}
	return true
}

// namesSecrets reports whether a word names Secrets, or ConfigMaps, in which Helm stores the values of a release.
func namesSecrets(word string) bool {
	parts := strings.FieldsFunc(strings.ToLower(word), func(r rune) bool { return r == ',' || r == '/' })
	return slices.ContainsFunc(parts, func(part string) bool {
		kind, _, _ := strings.Cut(part, ".")
		return slices.Contains([]string{"secret", "secrets", "configmap", "configmaps", "cm"}, kind)
	})
}
