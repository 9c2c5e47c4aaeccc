package nuon_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// allowance begins the comment that allows a test to look at the clock; a reason follows it. It stands on the
// line itself or on the one above.
const allowance = "//walltime:"

// mustBeRecent matches a comparison in SQL that holds only for a while.
var mustBeRecent = regexp.MustCompile(`>=? *(?:now|clock_timestamp)\(\) *[-+] *interval '\d+ (?:second|minute)s?'`)

// TestNoTestBoundsWallTime holds that a busy machine cannot turn a test red. A test bounds wall time when it
// compares a measured time with anything, gives a context a deadline, or sets a timer; pkg/testtime has what
// it needs instead, and a clock of the test's own (testing/synctest) may do all of it. What remains carries a
// comment with the reason. Benchmarks only measure.
func TestNoTestBoundsWallTime(t *testing.T) {
	files := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "bench_test.go") ||
			strings.HasPrefix(path, "pkg/testtime/") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, found := range wallTimeBounds(files, file) {
			t.Error(found)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// waitsShort matches a command in a story that must succeed and has a time limit, a limit of a deploy or a build in a
// config, and what replaces one.
var waitsShort = regexp.MustCompile(`(?m)^(?:\[[^]]*\] )*(?:(?:code 0 )?nuon .* --timeout (\S+)|` +
	`(?:deploy|build)_timeout *= *"([^"]*)"|replace .* '([0-9]+[smh])'$)`)

// TestStoriesWaitAsLongAsTests holds that no command of a story that must succeed, and nothing that a story deploys or
// builds, has a shorter time limit than tests.
func TestStoriesWaitAsLongAsTests(t *testing.T) {
	short := func(story string) (lines []string) {
		for _, found := range waitsShort.FindAllStringSubmatch(story, -1) {
			if limit, err := time.ParseDuration(found[1] + found[2] + found[3]); err != nil || limit < testtime.Limit {
				lines = append(lines, found[0])
			}
		}
		return lines
	}
	for line, want := range map[string]int{
		"code 0 nuon sync --app a --wait --timeout 60s": 1, "nuon sync --timeout 60s": 1, "[x] nuon sync --timeout 1m": 1,
		"code 0 nuon sync --app a --wait --timeout 8m": 0, "code 1 nuon sync --app a --timeout 20s": 0,
		`deploy_timeout = "30s"`: 1, `build_timeout  = "8m"`: 0, `[!demo] replace shop.toml '8m' '30s'`: 1,
	} {
		if got := short("dev start\n" + line + "\n"); len(got) != want {
			t.Errorf("%s: found %q, want %d", line, got, want)
		}
	}
	var stories int
	for _, pattern := range []string{"examples/*/story*.txtar", "examples/internal/*/story*.txtar",
		"examples/*/components/*.toml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(file) == ".txtar" {
				stories++
			}
			for _, line := range short(string(text)) {
				t.Errorf("%s: %q has too short a limit for a busy machine: use %s", file, line, testtime.Limit)
			}
		}
	}
	if stories < 10 {
		t.Errorf("read %d stories", stories)
	}
}

// rollout is the command of the module of examples/hello that stands for a rollout, and takesTime matches the input
// that makes it take seconds.
const rollout = "sleep ${var.settle_seconds}"

var takesTime = regexp.MustCompile(`settle_seconds=[1-9]`)

// TestRolloutsEndWhenTestsSay holds that no test hopes to do something within the seconds of a rollout: it replaces the
// command by one that waits for a file. Only in a demo may it take seconds.
func TestRolloutsEndWhenTestsSay(t *testing.T) {
	hopes := func(text string) bool { return takesTime.MatchString(text) && !strings.Contains(text, rollout) }
	if !hopes("nuon installs update acme --input settle_seconds=6\n") ||
		hopes("[!demo] replace main.tf '"+rollout+"' 'until [ -e go ]'\nnuon installs update --input settle_seconds=6\n") ||
		hopes("nuon installs update acme --input settle_seconds=0\n") {
		t.Error("a test that hopes is not found, or another one is")
	}
	module, err := os.ReadFile("examples/hello/modules/web/main.tf")
	if err != nil || !strings.Contains(string(module), rollout) {
		t.Fatalf("the module does not contain %q: %v", rollout, err)
	}
	found := 0
	for _, pattern := range []string{"examples/*/story*.txtar", "examples/internal/*/story*.txtar",
		"examples/internal/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if takesTime.Match(text) {
				found++
			}
			if hopes(string(text)) {
				t.Errorf("%s sets settle_seconds: replace %q by a command that waits for a file", file, rollout)
			}
		}
	}
	if found < 2 {
		t.Errorf("found %d tests that set settle_seconds", found)
	}
}

// wallTimeBounds returns the places of a file that bound wall time, each with what to do about it.
func wallTimeBounds(files *token.FileSet, file *ast.File) []string {
	allowed := map[int]string{}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if reason, is := strings.CutPrefix(comment.Text, allowance); is {
				line := files.Position(comment.Slash).Line
				allowed[line], allowed[line+1] = reason, reason
			}
		}
	}
	var found []string
	report := func(at token.Pos, what, instead string) {
		place := files.Position(at)
		if reason, is := allowed[place.Line]; !is {
			found = append(found, fmt.Sprintf("%s: %s; %s, or give the reason in a comment %q", place, what, instead, allowance+
				" …"))
		} else if len(strings.TrimSpace(reason)) < 10 {
			found = append(found, fmt.Sprintf("%s: the comment gives no reason", place))
		}
	}
	for _, declaration := range file.Decls {
		function, is := declaration.(*ast.FuncDecl)
		if !is || function.Body == nil || strings.HasPrefix(function.Name.Name, "Benchmark") || ownClock(function) {
			continue
		}
		measured := measurements(function.Body)
		ast.Inspect(function.Body, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.BasicLit:
				if node.Kind == token.STRING && mustBeRecent.MatchString(node.Value) {
					report(node.Pos(), "compares a time with the database's clock",
						"compare it with a clock_timestamp() from before the call")
				}
			case *ast.BinaryExpr:
				compares := slices.Contains([]token.Token{token.LSS, token.GTR, token.LEQ, token.GEQ}, node.Op)
				if compares && (measured.is(node.X) || measured.is(node.Y)) {
					report(node.Pos(), "compares a measured time", "count the work, or measure it with testtime.CheckCPUCost")
				}
			case *ast.CallExpr:
				switch called := callee(node); called {
				case "context.WithTimeout", "context.WithTimeoutCause", "context.WithDeadline", "context.WithDeadlineCause":
					report(node.Pos(), called, "take testtime.Context")
				case "time.After", "time.AfterFunc", "time.NewTimer":
					report(node.Pos(), called, "take testtime.After, Receive or Until")
				case "time.Now.After", "time.Now.Before":
					report(node.Pos(), "waits until a time", "take testtime.Until")
				}
			}
			return true
		})
	}
	return found
}

// ownClock reports whether a function runs in a bubble, where time is the test's own.
func ownClock(function *ast.FuncDecl) (own bool) {
	ast.Inspect(function.Body, func(node ast.Node) bool {
		if call, is := node.(*ast.CallExpr); is && callee(call) == "synctest.Test" {
			own = true
		}
		return !own
	})
	return own
}

// names are variables that hold a measured time.
type names map[string]bool

// measurements returns the variables that a function assigns a measured time to.
func measurements(body *ast.BlockStmt) names {
	found := names{}
	ast.Inspect(body, func(node ast.Node) bool {
		assigned, is := node.(*ast.AssignStmt)
		if !is || len(assigned.Lhs) != len(assigned.Rhs) {
			return true
		}
		for i, value := range assigned.Rhs {
			if name, is := assigned.Lhs[i].(*ast.Ident); is && found.is(value) {
				found[name.Name] = true
			}
		}
		return true
	})
	return found
}

// is reports whether an expression is a measured time, or holds one.
func (n names) is(e ast.Expr) (measured bool) {
	ast.Inspect(e, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			called := callee(node)
			measured = measured || called == "time.Since" || called == "time.Until"
		case *ast.Ident:
			measured = measured || n[node.Name]
		}
		return !measured
	})
	return measured
}

// callee returns the dotted name of what is called, without the arguments of calls in it.
func callee(call *ast.CallExpr) string {
	switch called := call.Fun.(type) {
	case *ast.Ident:
		return called.Name
	case *ast.SelectorExpr:
		switch from := called.X.(type) {
		case *ast.Ident:
			return from.Name + "." + called.Sel.Name
		case *ast.CallExpr:
			return callee(from) + "." + called.Sel.Name
		}
	}
	return ""
}

// TestWallTimeBoundsAreFound: what the test above looks for is found, and nothing else.
func TestWallTimeBoundsAreFound(t *testing.T) {
	for body, want := range map[string]int{
		"if time.Since(begun) > time.Second { t.Fatal() }":                        1,
		"took := time.Since(begun); if took > 3 { t.Fatal() }":                    1,
		"for end := time.Now().Add(3); time.Now().Before(end); { }":               1,
		"ctx, stop := context.WithTimeout(t.Context(), time.Minute)":              1,
		"select { case <-done: case <-time.After(time.Minute): t.Fatal() }":       1,
		"<-time.After(3) //walltime: a pause, and nothing is said of its length":  0,
		"//walltime: a pause, and nothing is said of its length\n<-time.After(3)": 0,
		"<-time.After(3) //walltime: no":                                          1,
		"t.Log(time.Since(begun))":                                                0,
		"if n > 3 { t.Fatal() }":                                                  0,
		"synctest.Test(t, func(t *testing.T) { if time.Since(begun) > 3 { } })":   0,
		"ctx := testtime.Context(t)":                                              0,
		`w.exec("select lease_until > now() ` + `+ interval '30 seconds'")`:       1,
		`w.exec("select at >= clock_timestamp() ` + `- interval '1 minute'")`:     1,
		`w.exec("update runners set last_seen = now() - interval '1 minute'")`:    0,
		`w.exec("select at < now() + interval '2 minutes'")`:                      0,
		`w.exec("select at > now() + interval '23 hours'")`:                       0,
	} {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "a_test.go", "package a\nfunc TestA(t *testing.T) {\n"+body+"\n}",
			parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if found := wallTimeBounds(files, file); len(found) != want {
			t.Errorf("%s: found %q, want %d", body, found, want)
		}
	}
}
