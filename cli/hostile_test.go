package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// hostile writes to the clipboard, conceals text, starts an 8-bit sequence, reverses the direction and is invisible.
const hostile = "a\x1b]52;c;ZXZpbA==\a\x1b[8mb\u009b8md\u202ee\u200bf\x7fg"

// fill sets all texts in a value to the hostile one, and gives each list and map one element.
func fill(v reflect.Value, depth int) {
	switch {
	case depth > 6, v.Type() == reflect.TypeFor[json.RawMessage]():
	case v.Kind() == reflect.String:
		v.SetString(hostile)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		element := reflect.New(v.Type().Elem()).Elem()
		fill(element, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(hostile).Convert(v.Type().Key()), element)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Type().Field(i).IsExported() && name != "Next" {
				fill(v.Field(i), depth+1)
			}
		}
	}
}

// filled returns a value whose texts are all hostile.
func filled[T any]() T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), 0)
	return v
}

// TestHostileTextsInCommands checks that commands print no text of a control plane as a control sequence: as text on a
// terminal and in a pipe, as JSON and as YAML.
func TestHostileTextsInCommands(t *testing.T) {
	report, err := json.Marshal(diff.Report{Kind: diff.KindTerraform, Notes: []string{hostile}})
	if err != nil {
		t.Fatal(err)
	}
	approval := filled[api.Approval]()
	approval.Report = report
	waiting := approval
	waiting.Status = api.ApprovalStatusWaiting
	answers := map[string]any{
		"/v1/approvals": api.ApprovalList{Items: []api.Approval{waiting}}, "/v1/approvals/apr_1": approval,
		"/v1/approvals/apr_2": waiting,
		"/v1/apps":            filled[api.AppList](), "/v1/apps/hello": filled[api.App](),
		"/v1/workflows": filled[api.WorkflowList](), "/v1/workflows/wfl_1": filled[api.Workflow](),
		"/v1/builds": filled[api.BuildList](), "/v1/builds/bld_1": filled[api.Build](),
		"/v1/apps/hello/components": filled[api.ComponentList](), "/v1/apps/" + hostile + "/components": api.ComponentList{},
		"/v1/installs/acme": filled[api.Install](), "/v1/apps/hello/releases": filled[api.ReleaseList](),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path]
		if !known {
			w.WriteHeader(http.StatusConflict)
			answer = filled[api.Problem]()
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer s.Close()
	t.Setenv("NUON_URL", s.URL)
	t.Setenv("NUON_TOKEN", "tok")
	t.Setenv("NUON_OUTPUT", "")
	for _, args := range [][]string{
		{"approvals", "list"}, {"review", "--print"}, {"review", "--print", "apr_1"}, {"review", "--print", "apr_2"},
		{"apps", "list"}, {"apps", "get", "hello"}, {"workflows", "list"}, {"workflows", "get", "wfl_1"},
		{"builds", "list", "--app", "hello"}, {"builds", "get", "bld_1"}, {"components", "list", "hello"},
		{"components", "get", "hello", hostile}, {"releases", "list", "hello"},
	} {
		for _, format := range []string{"table", "json", "yaml"} {
			for _, terminal := range []bool{true, false} {
				var out, remarks strings.Builder
				e := &cmdenv.Env{Console: &console.Console{In: strings.NewReader(""), Out: &out, Err: &remarks, Output: "table",
					OutIsTerminal: terminal, Color: terminal, Width: 100}}
				root := newRoot(e)
				root.SetArgs(append(args, "-o", format))
				if err := root.ExecuteContext(t.Context()); err != nil || out.Len() == 0 {
					t.Errorf("%q -o %s ended with %v, printed %q", args, format, err, out.String())
				}
				seen := strings.NewReplacer("\x1b[2m", "", "\x1b[33m", "", "\x1b[1m", "", "\x1b[0m", "").Replace(out.String())
				for _, r := range seen + remarks.String() {
					control := r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0
					hidden := r != '\n' && r != '\t' && !strconv.IsPrint(r)
					if control || hidden && (terminal || format != "table") {
						t.Errorf("%q -o %s, terminal %v: prints %q in %q", args, format, terminal, r, seen)
						break
					}
				}
			}
		}
	}
}

// direct lists the files that write to the console's Out without Console.Result, List, Rows or Print, and why they may.
var direct = map[string]string{
	"debug/debug.go":             "the shell of a person, with all sequences of the pod",
	"debug/shell.go":             "the size of the terminal",
	"dev/system.go":              "addresses of this machine",
	"diff/pager.go":              "what the renderers of diffs made",
	"diff/show.go":               "the renderers of diffs escape all texts",
	"interactive/interactive.go": "a screen, whose cells are cleaned",
	"interactive/plain.go":       "text that is cleaned there",
	"listing/listing.go":         "names that are cleaned there",
	"logs/line.go":               "lines that are cleaned there",
	"logs/shell.go":              "an asciicast, which is JSON",
	"main.go":                    "the help",
	"reference/reference.go":     "the reference of this program",
	"screen/background.go":       "a question to the terminal",
	"screen/screen.go":           "a screen, whose cells are cleaned",
	"screen/theme.go":            "the color support of the terminal",
	"tour/tour.go":               "commands of this program",
	"watch/screen.go":            "frames, which Console.Result made",
	"watch/watch.go":             "frames, which Console.Result made",
}

// TestOutGoesThroughTheConsole checks that no other file uses Console.Out: what the console prints cannot control a
// terminal.
func TestOutGoesThroughTheConsole(t *testing.T) {
	unused := map[string]bool{}
	for file := range direct {
		unused[file] = true
	}
	err := fs.WalkDir(os.DirFS("."), ".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") ||
			filepath.Dir(file) == "console" {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, is := n.(*ast.SelectorExpr); is && s.Sel.Name == "Out" {
				if delete(unused, file); direct[file] == "" {
					t.Errorf("%s writes to Console.Out: use Console.Result or Console.Print", file)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for file := range unused {
		t.Errorf("%s does not use Console.Out any more: take it off the list", file)
	}
}
