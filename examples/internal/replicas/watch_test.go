package replicas

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// watched are the commands with --watch or --follow, each with its arguments and with what it shows
// of the changes that everyWatch makes; if that is empty, it shows more lines than before. "nuon logs
// -f JOB" is followed through restarts in follow_test.go.
var watched = map[string]struct{ args, shows string }{
	"actions list":            {"--app app", "smoke"},
	"approvals list":          {"", "globex"},
	"apps list":               {"", "other"},
	"apps versions":           {"app", ""},
	"audit":                   {"", "token.create"},
	"builds list":             {"--app app", "extra"},
	"components list":         {"app", "extra"},
	"credentials list":        {"", "forge"},
	"installs get":            {"acme", "extra"},
	"installs history":        {"acme", ""},
	"installs list":           {"", "globex"},
	"installs secrets list":   {"acme", "mail"},
	"installs stack history":  {"acme", "1"},
	"installs stack versions": {"acme", "app-ins"},
	"logs":                    {"runner customer", ""},
	"releases list":           {"app", ""},
	"repos list":              {"", ""},
	"runners list":            {"", "spare"},
	"state list":              {"acme", "extra"},
	"state show":              {"acme web", ""},
	"status":                  {"", "globex"},
	"tokens list":             {"", "visitor"},
	"webhooks list":           {"", "hok_"},
	"workflows get":           {"latest:acme", "extra"},
	"workflows list":          {"", "globex"},
}

// empty are the lists without items before the changes, which print nothing then.
var empty = []string{"actions list", "approvals list", "credentials list", "installs secrets list",
	"installs stack history", "installs stack versions", "webhooks list"}

// everyWatch runs each command with --watch or --follow against the real control plane, changes
// what they show, and checks that each shows it.
func everyWatch(t *testing.T, w *world, _ *crowd) {
	var running []*watcher
	for name, flag := range flagsOfDocs(t) {
		c, known := watched[name]
		if !known {
			t.Errorf("this test does not run nuon %s %s", name, flag)
			continue
		}
		running = append(running, w.watch(t, name, flag, c.args, c.shows))
	}
	for name := range watched {
		if flagsOfDocs(t)[name] == "" {
			t.Errorf("nuon %s has neither --watch nor --follow", name)
		}
	}
	before := map[*watcher]int{}
	for _, one := range running {
		if !slices.Contains(empty, one.name) {
			one.expect(t, "prints something", func(lines []string) bool { return len(lines) > 0 })
		}
		before[one] = len(one.seen)
	}

	w.write("components/extra.toml", "type = \"terraform_module\"\nname = \"extra\"\nterraform_version = \"1.11.4\"\n\n"+
		"[public_repo]\nrepo = \".\"\ndirectory = \"modules/base\"\n")
	w.write("actions/smoke.toml", "name = \"smoke\"\ntimeout = \"1m\"\n\n[[triggers]]\ntype = \"manual\"\n\n"+
		"[[steps]]\nname = \"echo\"\ninline_contents = \"echo smoke\"\n")
	w.write("runner.toml", "runner_type = \"aws\"\n")
	w.write("secrets.toml", "[[secret]]\nname = \"mail\"\ndescription = \"Sends mail\"\n")
	w.write("stack.toml", "type = \"aws-cloudformation\"\nname = \"app-{{.nuon.install.id}}\"\n"+
		"description = \"The runner\"\n"+
		"vpc_nested_template_url = \"https://templates.example.com/vpc.yaml\"\n"+
		"runner_nested_template_url = \"https://templates.example.com/runner.yaml\"\n")
	// The resource that followed added stays: a plan that destroys something would wait for approval.
	w.pushed++
	w.write("modules/web/main.tf", fmt.Sprintf("variable \"region\" {\n  type = string\n}\n\nresource \"terraform_data\" "+
		"\"web\" {\n  input = \"${var.region} %d\"\n}\n\nresource \"terraform_data\" \"talk\" {}\n", w.pushed))
	w.publish()
	w.nuon("installs", "create", "globex", "--app", "app", "--runner", "customer", "--approval", "prompt")
	w.nuon("installs", "stack", "set", "acme", "vpc_id=vpc-1")
	w.nuon("apps", "create", "other")
	w.nuon("tokens", "create", "visitor", "--role", "viewer")
	w.nuon("webhooks", "create")
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("hunter2"), 0o600))
	w.nuon("credentials", "create", "forge", "--from", "@"+secret, "--repository", "https://forge.example/acme/*")
	w.nuon("runners", "create", "spare", "--kind", "install")
	for _, one := range running {
		one.expect(t, "shows the changes", func(lines []string) bool {
			return len(lines) > before[one] && slices.ContainsFunc(lines[before[one]:],
				func(line string) bool { return strings.Contains(line, one.shows) })
		})
	}
}

// watcher is a running command. Its channel has all lines that it has printed so far.
type watcher struct {
	name, shows string
	lines       chan []string
	seen        []string // the last that was received
}

// watch starts a command. It runs until the end of the test.
func (w *world) watch(t *testing.T, name, flag, args, shows string) *watcher {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(w.fleet.Bin, "nuon"),
		append(strings.Fields(name+" "+args), flag)...)
	cmd.Env = append(os.Environ(), "NUON_URL="+w.fleet.Control.URL(), "NUON_TOKEN="+w.fleet.Token,
		"NUON_CONFIG="+filepath.Join(t.TempDir(), "nuon.toml"))
	read, write, err := os.Pipe()
	must(t, err)
	cmd.Stdout, cmd.Stderr = write, write // a list without items is a message on stderr
	must(t, cmd.Start())
	must(t, write.Close())
	one := &watcher{name: name, shows: shows, lines: make(chan []string, 1)}
	go func() {
		var all []string
		for scan := bufio.NewScanner(read); scan.Scan(); {
			all = append(all, scan.Text())
			select {
			case <-one.lines:
			default:
			}
			one.lines <- slices.Clone(all)
		}
	}()
	t.Cleanup(func() { _ = cmd.Wait(); _ = read.Close() }) // it was killed when the test ended
	return one
}

// expect waits until a condition holds for the lines of a command.
func (o *watcher) expect(t *testing.T, what string, holds func([]string) bool) {
	t.Helper()
	limit := testtime.After()
	for !holds(o.seen) {
		select {
		case o.seen = <-o.lines:
		case <-limit:
			t.Errorf("nuon %s never %s; it printed\n%s", o.name, what, strings.Join(o.seen, "\n"))
			return
		}
	}
}

// flagsOfDocs returns the commands of docs/cli.md with --watch or --follow, and which of them.
func flagsOfDocs(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/cli.md")
	must(t, err)
	flags, command := map[string]string{}, ""
	for line := range strings.Lines(string(page)) {
		if heading := heading.FindStringSubmatch(line); heading != nil {
			command = heading[1]
		} else if flag := flag.FindStringSubmatch(line); flag != nil {
			flags[command] = flag[1]
		}
	}
	if len(flags) < 20 {
		t.Fatalf("docs/cli.md has only %v: is it read as it is meant?", flags)
	}
	return flags
}

var (
	heading = regexp.MustCompile(`^##+ nuon (.*)\n`)
	flag    = regexp.MustCompile(`^\| .*(--watch|--follow)\b`)
)
