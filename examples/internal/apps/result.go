package apps

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Steps are the steps of an app, in their order.
var Steps = []string{"validate", "build", "provision", "second plan", "drift", "update", "deprovision"}

// Result is how far an app came.
type Result struct {
	App string `json:"app"`
	// Done are the steps that succeeded.
	Done []string `json:"done"`
	// Failed is the step that did not, and Reason why.
	Failed string   `json:"failed,omitempty"`
	Reason string   `json:"reason,omitempty"`
	Notes  []string `json:"notes,omitempty"`
}

// Installed reports whether the app was provisioned and deprovisioned.
func (r Result) Installed() bool {
	return slices.Contains(r.Done, "provision") && slices.Contains(r.Done, "deprovision")
}

// String returns how far the app came, in a line.
func (r Result) String() string {
	if r.Failed == "" {
		return r.App + ": all steps succeeded"
	}
	first, _, _ := strings.Cut(r.Reason, "\n")
	return fmt.Sprintf("%s: %s failed: %s", r.App, r.Failed, first)
}

// Print writes the table.
func Print(to io.Writer, results []Result) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "app\t%s\t\n", strings.Join(Steps, "\t"))
	for _, r := range results {
		fmt.Fprintf(w, "%s\t", r.App)
		for _, step := range Steps {
			switch {
			case slices.Contains(r.Done, step):
				fmt.Fprint(w, "yes\t")
			case r.Failed == step:
				fmt.Fprint(w, "no\t")
			default:
				fmt.Fprint(w, "-\t")
			}
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		if r.Failed != "" {
			fmt.Fprintf(to, "\n%s: %s: %s", r.App, r.Failed, r.Reason)
		}
	}
	fmt.Fprintln(to)
	for _, r := range results {
		if len(r.Notes) > 0 {
			fmt.Fprintf(to, "\n%s: %s", r.App, strings.Join(r.Notes, "; "))
		}
	}
	fmt.Fprintln(to)
	return nil
}
