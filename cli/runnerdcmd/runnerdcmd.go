// Package runnerdcmd runs commands of runnerd for the commands of nuon that render charts: runnerd contains Helm, and
// nuon does not.
package runnerdcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/dev"
)

// maxStderr is the maximum number of bytes that are stored of runnerd's stderr.
const maxStderr = 16 << 10

// Output is what a command prints.
type Output struct {
	Content []byte
	Program string // the path of runnerd, for errors about the content
}

// Run runs a command with a request, as JSON, on its stdin. It returns its stdout of at most limit bytes; for more it
// returns an error with the text tooLarge.
func Run(ctx context.Context, request any, limit int, tooLarge string, command ...string) (Output, error) {
	program, err := dev.FindProgram("runnerd")
	if err != nil {
		return Output{}, err
	}
	encoded, err := json.Marshal(request)
	if err != nil {
		return Output{}, fmt.Errorf("run runnerd: %w", err)
	}
	content, err := run(ctx, exec.CommandContext(ctx, program, command...), encoded, limit, tooLarge)
	return Output{content, program}, err
}

func run(ctx context.Context, child *exec.Cmd, request []byte, limit int, tooLarge string) ([]byte, error) {
	program := child.Path
	child.Stdin = bytes.NewReader(request)
	var said bytes.Buffer
	child.Stderr = &limited{to: &said, left: maxStderr}
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", program, err)
	}
	content, readErr := io.ReadAll(io.LimitReader(out, int64(limit)+1))
	if len(content) > limit {
		_ = child.Process.Kill() // it would block on a full pipe
		readErr = errors.New(tooLarge)
	}
	err = child.Wait()
	// If runnerd crashed, for example because a chart needs more memory than
	// there is, only the message before Go's stack trace is useful.
	words, _, _ := strings.Cut(said.String(), "\ngoroutine ")
	switch words = strings.TrimPrefix(strings.TrimSpace(words), "runnerd: "); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case readErr != nil:
		return nil, fmt.Errorf("read the output of %s: %w", program, readErr)
	case err != nil && words != "":
		return nil, errors.New(words)
	case err != nil:
		return nil, fmt.Errorf("%s failed without a message: %w", program, err)
	}
	return content, nil
}

// limited is a writer that discards everything after the first left bytes.
type limited struct {
	to   io.Writer
	left int
}

// Write reports success for all of text, but passes on only what fits.
func (l *limited) Write(text []byte) (int, error) {
	kept := text[:min(len(text), l.left)]
	l.left -= len(kept)
	if _, err := l.to.Write(kept); err != nil {
		return 0, err
	}
	return len(text), nil
}
