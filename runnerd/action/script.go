package action

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// script writes the rendered script to a file that only this user may execute.
func (r *run) script(number int, contents string) (string, error) {
	rendered, err := r.values.Render("inline_contents", contents)
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(rendered, "#!") {
		return "", errors.New("the script does not say what runs it; let its first line be like #!/bin/sh")
	}
	path := filepath.Join(r.work, fmt.Sprintf("script-%d", number+1))
	if err := os.WriteFile(path, []byte(rendered), 0o700); err != nil {
		return "", fmt.Errorf("write the script: %w", err)
	}
	return path, subprocess.GrantRead(path)
}

// command returns the words of a command line. It renders each word separately, so that a value
// with blanks or quotes stays within its word. A program with a path is one in the step's directory.
func (r *run) command(line string) ([]string, error) {
	words, err := appconfig.SplitCommand(line)
	if err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	if len(words) == 0 {
		return nil, errors.New("the command is empty; name a program")
	}
	for i, word := range words {
		if words[i], err = r.values.RenderPublic("command", word); err != nil {
			return nil, err
		}
	}
	if strings.Contains(words[0], "/") && !appconfig.IsInside(words[0]) {
		return nil, fmt.Errorf("the program %q is outside of the step's directory; name a file in it, such as ./run.sh, "+
			"or a program on the runner's PATH", words[0])
	}
	return words, nil
}
