package apps

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nuon-toolkit/nuon/examples/internal/cloud/standin"
)

// scriptFile finds the file of the script of a step.
var scriptFile = regexp.MustCompile(`(?m)^inline_contents\s*=\s*"(\./[^"]+)"`)

// replaceScripts replaces the placeholders of scripts that actions run by scripts with the outputs that others read.
func (a *App) replaceScripts() error {
	files, err := filepath.Glob(filepath.Join(a.tree, "actions", "*.toml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		head, steps, _ := strings.Cut(string(content), "[[steps]]")
		action := componentName.FindStringSubmatch(head)
		if action == nil {
			continue
		}
		for step := range strings.SplitSeq(steps, "[[steps]]") {
			name, script := componentName.FindStringSubmatch(step), scriptFile.FindStringSubmatch(step)
			if name == nil || script == nil {
				continue
			}
			if err := a.replaceScript(filepath.Join(filepath.Dir(file), script[1]), action[1], name[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// replaceScript replaces the script of a step if it is a placeholder.
func (a *App) replaceScript(file, action, step string) error {
	content, err := os.ReadFile(file)
	if err != nil || !standin.IsPlaceholder(content) {
		return err
	}
	var text strings.Builder
	text.WriteString("#!/bin/sh\n")
	written := map[string]bool{}
	for _, ref := range a.refs() {
		if len(ref) < 7 || strings.Join(ref[:6], "\n") != "actions\nworkflows\n"+action+"\noutputs\nsteps\n"+step {
			continue
		}
		if key := ref[6]; !written[key] {
			written[key] = true
			fmt.Fprintf(&text, "echo '%s=standin-%s' >> \"$NUON_ACTIONS_OUTPUT_FILEPATH\"\n", key,
				strings.ReplaceAll(key, "_", "-"))
		}
	}
	a.note("script of action %s is a stand-in", action)
	return os.WriteFile(file, []byte(text.String()), 0o755)
}
