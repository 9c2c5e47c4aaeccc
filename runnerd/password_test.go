package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// TestRegistryPassword checks that the password comes from a file or from the environment,
// and that child processes do not get it in their environment.
func TestRegistryPassword(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, test := range map[string]struct{ variable, file, want, wrong string }{
		"none":     {},
		"variable": {variable: "word", want: "word"},
		"file":     {file: write("word", "a word\r\n"), want: "a word"},
		"both":     {variable: "word", file: write("other", "word"), wrong: "keep one of them"},
		"missing":  {file: filepath.Join(dir, "none"), wrong: "--registry-password-file: open"},
		"empty":    {file: write("empty", "\n"), wrong: "is empty"},
		"large":    {file: write("large", strings.Repeat("x", maxPassword+1)), wrong: "more than 16384 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(job.VarRegistryPassword, test.variable)
			got, err := registryPassword(test.file)
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("got %v", err)
				}
			} else if err != nil || string(got.Reveal()) != test.want {
				t.Errorf("got %q %v", got.Reveal(), err)
			}
			if _, left := os.LookupEnv(job.VarRegistryPassword); left {
				t.Error("it is left in the environment")
			}
		})
	}
}
