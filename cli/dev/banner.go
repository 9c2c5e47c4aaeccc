package dev

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// writeBanner prints the addresses and paths of the system, and the commands
// to try first in the given directory.
func writeBanner(to io.Writer, made Ready, saved Saved, database string, took time.Duration, directory string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "\nnuon dev is ready (%s)\n\n", took.Round(100*time.Millisecond))
	rows := [][2]string{
		{"API", made.ControlURL},
		{"runner API", made.RunnerURL + " (runners build and local)"},
		{"registry", made.Registry},
		{"metrics", made.MetricsURL + "/debug/status and /metrics"},
		{"database", database},
		{"data", made.DataDir},
		{"org", made.Org},
		{"context", made.Context + " in " + saved.File},
	}
	for _, row := range rows {
		fmt.Fprintf(&text, "  %-11s %s\n", row[0], row[1])
	}
	text.WriteString("\nIn another terminal:\n\n")
	if !saved.Current {
		fmt.Fprintf(&text, "  nuon context use %-12s to replace the current context\n", made.Context)
	}
	for _, line := range firstCommands(directory) {
		fmt.Fprintf(&text, "  %s\n", line)
	}
	text.WriteString("\nCtrl-C stops everything and keeps the data.\n\n")
	_, err := io.WriteString(to, text.String())
	return err
}

// firstCommands returns the first commands to try: for the hello example if it is in
// the directory, else for an own app.
func firstCommands(directory string) []string {
	if _, err := os.Stat(filepath.Join(directory, "examples", "hello", "metadata.toml")); err == nil {
		return []string{
			"nuon apps create hello --repo file://$PWD --directory examples/hello",
			"nuon sync examples/hello",
			"nuon installs create --app hello --file examples/hello/installs/acme.toml",
			"nuon review",
		}
	}
	if _, err := os.Stat(filepath.Join(directory, "metadata.toml")); err == nil {
		return []string{
			"nuon apps create NAME --repo file://$PWD    once, with the name of the app",
			"nuon sync                                   after each commit",
			"nuon status                                 what needs you, and what to run next",
		}
	}
	return []string{"nuon init      writes a small app here, and prints the next steps"}
}
