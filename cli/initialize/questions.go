package initialize

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// questions determines what no flag sets: it asks a person with --interactive, and
// uses defaults otherwise.
type questions struct {
	options
	console *console.Console
	place   place
	notes   []string // what the search left out
}

// answer returns the app to write. Given reports that --from is set.
func (q *questions) answer(ctx context.Context, given bool) (*app, error) {
	if q.cloud != "" && !slices.Contains(clouds, q.cloud) {
		return nil, exitcode.Usagef("--cloud %s: use one of %s", q.cloud, strings.Join(clouds, ", "))
	}
	if err := q.askName(ctx); err != nil {
		return nil, err
	}
	finds, err := q.found(ctx, given)
	if err != nil {
		return nil, err
	}
	a := &app{name: q.name, place: q.place}
	a.take(finds)
	if len(finds) == 0 && q.cloud == "" {
		q.cloud = "none" // the sample needs no cloud
	}
	if err := q.askCloud(ctx, a); err != nil {
		return nil, err
	}
	for _, n := range q.notes {
		q.console.Messagef("%s", console.Line(n))
	}
	return a, nil
}

func (q *questions) askName(ctx context.Context) error {
	byDefault := simplifyName(filepath.Base(q.place.dir), "-")
	if q.name == "" {
		answer, err := q.ask(ctx, fmt.Sprintf("Name of the app [%s]: ", byDefault), byDefault)
		if err != nil {
			return err
		}
		q.name = answer
	}
	if !isName(q.name) {
		return exitcode.Usagef("invalid app name %q: use at most 63 lower-case letters, digits, - and _; set it "+
			"with --name",
			q.name)
	}
	return nil
}

// ask returns the answer of a person; the default for an empty answer, and without --interactive.
func (q *questions) ask(ctx context.Context, prompt, byDefault string) (string, error) {
	if !q.interactive {
		return byDefault, nil
	}
	answer, err := q.console.Ask(ctx, prompt)
	if answer = strings.TrimSpace(answer); answer == "" {
		answer = byDefault
	}
	return answer, err
}

// found returns what becomes components; none for the sample.
func (q *questions) found(ctx context.Context, given bool) ([]find, error) {
	if !given {
		if finds, err := q.offered(ctx); err != nil || len(finds) > 0 {
			return q.choose(ctx, finds, err)
		}
		answer, err := q.ask(ctx, "Directory of a Helm chart, Terraform module or Kubernetes manifests (empty for "+
			"a sample that runs anywhere): ", "")
		if err != nil {
			return nil, err
		}
		q.from = answer
	}
	if q.from == "" {
		return nil, nil
	}
	dir, err := q.place.directory(q.from)
	if err != nil {
		return nil, err
	}
	finds, notes, err := q.place.seek(ctx, dir, true)
	if err != nil {
		return nil, err
	}
	if len(finds) == 0 && len(notes) > 0 {
		return nil, exitcode.Usagef("--from %s: %s", q.from, strings.Join(notes, "; "))
	}
	if len(finds) == 0 {
		return nil, exitcode.Usagef("--from %s: no Helm chart, Terraform module, kustomization or Kubernetes "+
			"manifest found", q.from)
	}
	q.notes = notes
	return q.choose(ctx, finds, nil)
}

// offered searches the current directory, so that a person can choose from the finds.
func (q *questions) offered(ctx context.Context) ([]find, error) {
	if !q.interactive {
		return nil, nil
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir, err := q.place.directory(here)
	if err != nil {
		return nil, nil //nolint:nilerr // it is in another repository than the app
	}
	finds, _, err := q.place.seek(ctx, dir, false)
	return finds, err
}

// choose prompts for the one of several finds to use.
func (q *questions) choose(ctx context.Context, finds []find, err error) ([]find, error) {
	if err != nil || !q.interactive || len(finds) == 0 || q.from != "" && len(finds) == 1 {
		return finds, err
	}
	var b strings.Builder
	b.WriteString("Found these possible components:\n")
	for i, f := range finds {
		fmt.Fprintf(&b, "  %d  %s: %s\n", i+1, f.dir, f.about)
	}
	answer, err := q.ask(ctx, b.String()+"Which ones? Numbers, all, or none for a sample that runs anywhere [all]: ",
		"all")
	if err != nil {
		return nil, err
	}
	return chosen(finds, answer)
}

// chosen returns the finds that an answer selects.
func chosen(finds []find, answer string) (some []find, err error) {
	switch answer {
	case "all":
		return finds, nil
	case "none":
		return nil, nil
	}
	wanted := map[int]bool{}
	for word := range strings.FieldsFuncSeq(answer, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(finds) {
			return nil, exitcode.Usagef("invalid choice %q: enter numbers from 1 to %d, all or none",
				word, len(finds))
		}
		wanted[n-1] = true
	}
	for i, f := range finds {
		if wanted[i] {
			some = append(some, f)
		}
	}
	return some, nil
}

// askCloud determines the cloud.
func (q *questions) askCloud(ctx context.Context, a *app) error {
	if q.cloud == "" {
		byDefault := a.cloud
		if byDefault == "" {
			byDefault = "none"
		}
		answer, err := q.ask(ctx, fmt.Sprintf("Cloud of the installs: %s [%s]: ",
			strings.Join(clouds, ", "), byDefault), byDefault)
		if err != nil {
			return err
		}
		q.cloud = answer
	}
	if !slices.Contains(clouds, q.cloud) {
		return exitcode.Usagef("invalid cloud %q: enter one of %s", q.cloud, strings.Join(clouds, ", "))
	}
	if a.cloud = q.cloud; a.cloud == "none" {
		a.cloud = ""
	}
	return nil
}
