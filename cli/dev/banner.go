package dev

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// writeBanner tells where everything is and what to try first.
func writeBanner(to io.Writer, made Ready, saved Saved, database string, took time.Duration) error {
	var text strings.Builder
	fmt.Fprintf(&text, "\nnuon dev is ready (%s)\n\n", took.Round(100*time.Millisecond))
	rows := [][2]string{
		{"API", made.ControlURL},
		{"runner API", made.RunnerURL + " (runners build and local)"},
		{"registry", made.Registry},
		{"insight", made.InsightURL + "/debug/status and /metrics"},
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
		fmt.Fprintf(&text, "  nuon context use %-12s another context is the current one\n", made.Context)
	}
	text.WriteString(`  nuon apps create hello --repo file://$PWD --directory examples/hello
  nuon sync examples/hello
  nuon installs create --app hello --file examples/hello/installs/acme.toml
  nuon review

Ctrl-C stops everything; the data stays.

`)
	_, err := io.WriteString(to, text.String())
	return err
}
