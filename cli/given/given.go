// Package given reads values that stand on the command line as NAME=VALUE and NAME=@FILE. It sends nothing and knows nothing of what
// they are for; secrets are read by package vault. The commands with --input, --env and --label use it.
package given

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/exit"
)

// Pairs reads the NAME=VALUE values of a flag. Of one name twice, the last counts.
func Pairs(flag string, pairs []string) (map[string]string, error) {
	out := make(map[string]string, len(pairs))
	for _, p := range pairs {
		name, v, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, exit.Usagef("%s %q: write NAME=VALUE", flag, p)
		}
		out[name] = v
	}
	return out, nil
}

// Files reads the NAME=@FILE values of a flag, each value from its file, without the line end that an editor puts last. The @ may
// be left out.
func Files(flag string, pairs []string) (map[string]string, error) {
	named, err := Pairs(flag, pairs)
	if err != nil {
		return nil, err
	}
	for name, file := range named {
		if named[name], err = content(strings.TrimPrefix(file, "@")); err != nil {
			return nil, exit.With(exit.Usage, fmt.Errorf("%s %s: %w", flag, name, err))
		}
	}
	return named, nil
}

// limit bounds a value that is read from a file, in bytes.
const limit = 1 << 20

func content(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return "", err
	}
	if len(b) > limit {
		return "", fmt.Errorf("%s holds more than %d MB, which is too much for a value", file, limit>>20)
	}
	if line, ended := bytes.CutSuffix(b, []byte("\n")); ended {
		b = bytes.TrimSuffix(line, []byte("\r"))
	}
	return string(b), nil
}
