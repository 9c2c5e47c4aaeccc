// Package ci_test checks the recipes for pipelines. It runs the shell recipe against the real
// programs until it has ended with every exit code, and checks that each nuon command in the others
// exists.
package ci_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// pipeline is a fleet with the app of `nuon init`, and what a CI has: a work tree and a token of the
// role ci.
type pipeline struct {
	*fleet.Fleet
	t      *testing.T
	ctx    context.Context
	vendor *fleet.Repository
	token  string
}

func start(t *testing.T) *pipeline {
	t.Helper()
	bin, err := fleet.Programs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fleet.Place()
	if err != nil {
		t.Fatal(err)
	}
	// The test's own context ends before the programs are stopped.
	p := &pipeline{t: t, ctx: context.WithoutCancel(t.Context())}
	p.Fleet, err = fleet.Start(p.ctx, fleet.Options{Bin: bin, Dir: dir, Installers: []string{"customer"}})
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the logs are in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	p.must(err)
	packaged := filepath.Join(dir, "packaged")
	p.nuon("init", packaged, "--name", "shop")
	p.vendor, err = p.NewRepository(p.ctx, "shop", os.DirFS(packaged))
	p.must(err)
	p.nuon("apps", "create", "shop", "--repo", p.vendor.URL)
	p.nuon("apps", "create", "other", "--repo", p.vendor.URL)
	var made api.CreatedToken
	p.must(p.JSON(p.ctx, &made, "tokens", "create", "pipeline", "--role", "ci", "--app", "shop", "--expires", "1h"))
	p.token = made.Secret
	return p
}

func (p *pipeline) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// nuon runs a command as a person who is an admin.
func (p *pipeline) nuon(args ...string) string {
	p.t.Helper()
	out, err := p.Nuon(p.ctx, args...)
	p.must(err)
	return string(out)
}

// said is the output of a run of the recipe, with its exit code.
type said struct {
	code        int
	out, remark string
}

// recipe runs nuon.sh in the work tree as a CI does, with additional or changed variables.
func (p *pipeline) recipe(does string, more ...string) said {
	p.t.Helper()
	script, err := filepath.Abs("nuon.sh")
	p.must(err)
	cmd := exec.CommandContext(testtime.Context(p.t), "sh", append([]string{script}, strings.Fields(does)...)...)
	cmd.Dir = p.vendor.Tree
	cmd.Env = append([]string{
		"PATH=" + p.Bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + p.t.TempDir(), "NUON_URL=" +
			p.Control.URL(), "NUON_TOKEN=" + p.token, "APP=shop", "TIMEOUT=" + testtime.Limit.String(),
	}, more...)
	var out, remark strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &remark
	s := said{}
	err = cmd.Run()
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		s.code = exited.ExitCode()
	} else {
		p.must(err)
	}
	s.out, s.remark = out.String(), remark.String()
	return s
}

// ends checks the exit code and the output of a run.
func (p *pipeline) ends(s said, code int, says ...string) {
	p.t.Helper()
	ok := s.code == code
	for _, want := range says {
		ok = ok && regexp.MustCompile(want).MatchString(s.out+s.remark)
	}
	if !ok {
		p.t.Fatalf("ended with %d, want %d and %q\n%s\n%s", s.code, code, says, s.out, s.remark)
	}
}

func (p *pipeline) replace(file, old, with string) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.vendor.Tree, file))
	p.must(err)
	if !strings.Contains(string(text), old) {
		p.t.Fatalf("%s has no %q", file, old)
	}
	p.must(p.vendor.Write(file, strings.ReplaceAll(string(text), old, with)))
}

func (p *pipeline) push(message string) {
	p.t.Helper()
	p.must(p.vendor.Push(p.ctx, message))
}

// TestShell runs a pipeline over several changes: nuon.sh ends with each exit code, for the
// documented reason.
func TestShell(t *testing.T) {
	p := start(t)
	p.ends(p.recipe("ship"), exitcode.Done, "shop is at release 1")
	p.nuon("installs", "create", "acme", "--app", "shop", "--runner", "customer", "--approval", "approve-all")
	p.ends(p.recipe("ship"), exitcode.Done, `acme\tshop\t\d+ \([0-9a-f]{7}\)\tcurrent`)
	t.Run("check", func(t *testing.T) { p.t = t; p.check() })
	p.t = t
	p.asks()
	p.fails()
	t.Run("let in", func(t *testing.T) { p.t = t; p.letIn() })
}

// check runs a pull request, which must change nothing.
func (p *pipeline) check() {
	p.ends(p.recipe("check"), exitcode.Done, "valid: 1 component", `\*\*nuon\*\*: A sync of shop would change nothing`,
		"Nothing would change on 1 install")
	p.replace("modules/web/main.tf", "${var.greeting} from", "${var.greeting}, says")
	p.ends(p.recipe("check comment.md"), exitcode.Done)
	comment, err := os.ReadFile(filepath.Join(p.vendor.Tree, "comment.md"))
	p.must(errors.Join(err, os.Remove(filepath.Join(p.vendor.Tree, "comment.md"))))
	for _, want := range []string{"| web | rebuilt | the code in modules/web would change |", "| acme | web |"} {
		if !strings.Contains(string(comment), want) {
			p.t.Errorf("%q is not in the comment:\n%s", want, comment)
		}
	}
	p.replace("modules/web/main.tf", "resource", "module \"far\" { source = \"../../../far\" }\n\nresource")
	p.ends(p.recipe("check"), exitcode.Usage,
		`modules/web/main.tf:\d+: module "far" calls "../../../far", which leads out`)
	p.replace("modules/web/main.tf", "module \"far\" { source = \"../../../far\" }\n\n", "")
	p.replace("components/web.toml", "inputs.greeting", "inputs.greting")
	p.ends(p.recipe("check"), exitcode.Usage, `components/web.toml:\d+:\d+: error: .*did you mean "greeting"`)
	p.replace("components/web.toml", "inputs.greting", "inputs.greeting")
	if list := p.nuon("builds", "list", "--app", "shop", "-o", "name"); strings.Count(list, "\n") != 2 {
		p.t.Errorf("a check left builds behind:\n%s", list)
	}
}

// asks runs a merge that a person approves, and one that they reject.
func (p *pipeline) asks() {
	p.nuon("installs", "update", "acme", "--approval", "prompt")
	p.push("Say it otherwise")
	p.ends(p.recipe("ship"), exitcode.Waiting, "waiting_for_approval", "nuon review")
	p.ends(p.recipe("ship", "WAITING=pass"), exitcode.Done, "waiting_for_approval")
	waiting := strings.TrimSpace(p.nuon("approvals", "list", "-o", "name"))
	p.mayNot("approve "+waiting, "reject acme/web --reason mine")
	p.nuon("reject", "acme/web", "--reason", "not during the sale")
	p.ends(p.recipe("ship"), exitcode.Rejected, "a change was rejected")
	p.ends(p.recipe("ship", "WAITING=pass"), exitcode.Rejected)
}

// fails runs a merge of a broken change.
func (p *pipeline) fails() {
	p.must(p.vendor.Write("modules/web/provider.tf",
		"terraform {\n  required_providers {\n    nosuch = { source = \"nuon.invalid/acme/nosuch\" }\n  }\n}\n"))
	p.push("Need a provider that nobody has")
	p.ends(p.recipe("ship"), exitcode.Failed, `web +build \d+ +failed`, "nuon logs bld_")
	p.replace("metadata.toml", "version = \"v2\"", "version = \"v9\"")
	p.push("Be of another age")
	p.ends(p.recipe("ship"), exitcode.Usage, "shop stays at release ", "fix them and sync again")
}

// letIn checks the limits of the token, and the result when it is no longer valid.
func (p *pipeline) letIn() {
	p.ends(p.recipe("ship", "NUON_URL=http://127.0.0.1:1"), exitcode.Unreachable, "cannot reach the control plane")
	p.ends(p.recipe("ship", "APP=other"), exitcode.Failed, "other")
	p.mayNot("deploy acme", "runners list", "tokens create more --role admin",
		"installs update acme --input greeting=mine")
	p.nuon("tokens", "revoke", "pipeline")
	p.ends(p.recipe("ship"), exitcode.Unreachable, "token")
	p.ends(p.recipe("ship", "NUON_TOKEN="), exitcode.Usage, "set it to a token of the role ci")
	p.ends(p.recipe("dance"), exitcode.Usage, "usage: nuon.sh")
}

// mayNot checks that the token of the recipe is refused for these commands.
func (p *pipeline) mayNot(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		cmd := exec.CommandContext(p.ctx, filepath.Join(p.Bin, "nuon"), strings.Fields(line)...)
		cmd.Env = []string{"NUON_URL=" + p.Control.URL(), "NUON_TOKEN=" + p.token, "HOME=" + p.t.TempDir()}
		out, err := cmd.CombinedOutput()
		if exited := (*exec.ExitError)(nil); !errors.As(err, &exited) || exited.ExitCode() != exitcode.Unreachable {
			p.t.Errorf("a token of the role ci may do %s: %v\n%s", line, err, out)
		}
	}
}

// TestCommandsExist checks that each line with nuon in a recipe, or in its documentation, is an
// existing command with existing flags.
func TestCommandsExist(t *testing.T) {
	bin, err := fleet.Programs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for file, least := range map[string]int{"github.yml": 4, "gitlab.yml": 4, "nuon.sh": 3, "../../docs/ci.md": 4,
		"../../README.md": 8} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var scripts []string
		if filepath.Ext(file) == ".yml" {
			var all any
			if err := yaml.UnmarshalStrict(text, &all); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			scripts = texts(all)
		} else {
			scripts = []string{string(text)}
		}
		found := 0
		for _, script := range scripts {
			for line := range strings.Lines(script) {
				if command, is := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "$ "), "nuon "); is {
					found++
					exists(t, filepath.Join(bin, "nuon"), file, command)
				}
			}
		}
		if found < least {
			t.Errorf("%s has %d commands of nuon, want %d at least", file, found, least)
		}
	}
}

// texts returns all strings in a document.
func texts(at any) (all []string) {
	switch now := at.(type) {
	case string:
		return []string{now}
	case []any:
		for _, v := range now {
			all = append(all, texts(v)...)
		}
	case map[string]any:
		for _, v := range now {
			all = append(all, texts(v)...)
		}
	}
	return all
}

// end matches the end of a command's own words, where shell syntax starts.
var end = regexp.MustCompile(`\s*(\|\||\||>|&&|;|#).*`)

func exists(t *testing.T, nuon, file, command string) {
	t.Helper()
	words := strings.Fields(end.ReplaceAllString(command, ""))
	// The help of `tokens create pipeline` is that of `tokens create`: a word that is no command is
	// an argument.
	asked := []string{words[0], "--help"}
	if len(words) > 1 && !strings.HasPrefix(words[1], "-") {
		asked = []string{words[0], words[1], "--help"}
	}
	help, err := exec.CommandContext(t.Context(), nuon, asked...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: nuon %s: %v\n%s", file, command, err, help)
		return
	}
	for _, word := range words[1:] {
		name, _, _ := strings.Cut(word, "=")
		if strings.HasPrefix(name, "--") &&
			!regexp.MustCompile(fmt.Sprintf(`(?m)^\s+(-\w, )?%s\b`, regexp.QuoteMeta(name))).Match(help) {
			t.Errorf("%s: nuon %s: there is no flag %s", file, command, name)
		}
	}
}
