package schema

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/jsonschema"
)

// taploFile is the name of the generated Taplo config. It is not .taplo.toml, because
// Taplo looks for that in the directory of the app, not in the one of the schemas.
const taploFile = "taplo.toml"

// writtenFiles is the output of --dir.
type writtenFiles struct {
	Directory string   `json:"directory"`
	Files     []string `json:"files"`
}

// writeAll writes the schema of every kind, and the Taplo config that maps files to schemas.
func writeAll(e *cmdenv.Env, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write the schemas: %w", err)
	}
	for _, k := range format.Kinds() {
		var text bytes.Buffer
		if err := encode(&text, jsonschema.ForKind(k)); err != nil {
			return fmt.Errorf("write the schema of %s: %w", k.Name, err)
		}
		if err := write(dir, jsonschema.FileName(k), text.Bytes()); err != nil {
			return err
		}
	}
	if err := write(dir, taploFile, []byte(jsonschema.TaploRules(filepath.ToSlash(filepath.Clean(dir))))); err != nil {
		return err
	}
	return e.Console.Result(writtenFiles{dir, files()}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "wrote %d schemas to %s; for editors: cp %s .taplo.toml\n",
			len(format.Kinds()), console.Line(dir), console.Line(filepath.Join(dir, taploFile)))
		return err
	})
}

func write(dir, name string, text []byte) error {
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
		return fmt.Errorf("write the schemas: %w", err)
	}
	return nil
}
