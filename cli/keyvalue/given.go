// Package keyvalue parses command-line values of the forms NAME=VALUE and NAME=@FILE for the commands with
// --input, --env and --label. It sends nothing and does not depend on what the values are for; package
// vault reads secrets.
package keyvalue

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// Pairs parses the NAME=VALUE values of a flag. If a name occurs twice, the last value wins.
func Pairs(flag string, pairs []string) (map[string]string, error) {
	out := make(map[string]string, len(pairs))
	for _, p := range pairs {
		name, v, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, exitcode.Usagef("%s %q: use NAME=VALUE", flag, p)
		}
		out[name] = v
	}
	return out, nil
}

// Files parses the NAME=@FILE values of a flag and reads each value from its file,
// without the final line break that editors add. The @ is optional.
func Files(flag string, pairs []string) (map[string]string, error) {
	named, err := Pairs(flag, pairs)
	if err != nil {
		return nil, err
	}
	for name, file := range named {
		if named[name], err = content(strings.TrimPrefix(file, "@")); err != nil {
			return nil, exitcode.With(exitcode.Usage, fmt.Errorf("%s %s: %w", flag, name, err))
		}
	}
	return named, nil
}

// limit is the maximum size of a value that is read from a file, in bytes.
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
		return "", fmt.Errorf("%s is larger than %d MB, the maximum for a value", file, limit>>20)
	}
	if line, ended := bytes.CutSuffix(b, []byte("\n")); ended {
		b = bytes.TrimSuffix(line, []byte("\r"))
	}
	return string(b), nil
}
