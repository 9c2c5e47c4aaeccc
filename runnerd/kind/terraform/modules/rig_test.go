package modules

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/filetree"
	"github.com/nuon-toolkit/nuon/pkg/gittest"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules/registrytest"
)

// filesOf returns files from pairs of path and content; content that starts with "-> " is a link.
func filesOf(pairs ...string) []artifact.File {
	var files []artifact.File
	for i := 0; i < len(pairs); i += 2 {
		file := artifact.File{Path: pairs[i], Content: []byte(pairs[i+1])}
		if target, is := strings.CutPrefix(pairs[i+1], "-> "); is {
			file.Content, file.Link = nil, target
		}
		files = append(files, file)
	}
	return files
}

// calling returns the text of a module block; the version may be empty.
func calling(name, source, version string) string {
	if version != "" {
		version = fmt.Sprintf("\n  version = %q", version)
	}
	return fmt.Sprintf("module %q {\n  source = %q%s\n}\n", name, source, version)
}

// trusting returns options for a server of a test.
func trusting(server *registrytest.Server) Options {
	return Options{Roots: server.Roots, AllowPrivate: func(host string) bool { return host == "127.0.0.1" }}
}

// resolve resolves the module in the directory "app" of a tree.
func resolve(t *testing.T, options Options, previous *Resolution, pairs ...string) (*Result, error) {
	t.Helper()
	resolver := New(options)
	resolver.pause = 0
	return resolver.Resolve(t.Context(), filetree.New(filesOf(pairs...)), "app", previous)
}

func mustResolve(t *testing.T, options Options, previous *Resolution, pairs ...string) *Result {
	t.Helper()
	result, err := resolve(t, options, previous, pairs...)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// fails checks that an error has all of these texts, is on one line, and has no secret.
func fails(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", want)
	}
	for _, text := range want {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got  %v\nwant %q in it", err, text)
		}
	}
	if strings.Contains(err.Error(), "hunter2") || strings.ContainsAny(err.Error(), "\x1b\x00") {
		t.Errorf("%q shows what it must not", err)
	}
}

// credentials returns a lookup that returns a credential for addresses that start with a text.
func credentials(found map[string]Credential) func(context.Context, *url.URL) (Credential, error) {
	return func(_ context.Context, at *url.URL) (Credential, error) {
		for prefix, credential := range found {
			if strings.HasPrefix(at.String(), prefix) {
				return credential, nil
			}
		}
		return Credential{}, nil
	}
}

// makeTree stores a tree with lines as git mktree reads them, and returns its hash.
func makeTree(t *testing.T, repo *gittest.Repo, lines string) string {
	t.Helper()
	command := exec.Command("git", "mktree")
	command.Dir, command.Stdin = repo.Dir, strings.NewReader(lines)
	printed, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(printed))
}

// numbered returns pairs of names and empty contents.
func numbered(name string, n int) []string {
	var pairs []string
	for i := range n {
		pairs = append(pairs, fmt.Sprint(name, i), "")
	}
	return pairs
}

// page answers with a web page.
func page(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(text))
	}
}

// withSubmodule commits a module with a submodule.
func withSubmodule(repo *gittest.Repo, path, url, commit string) {
	repo.Write("main.tf", "", ".gitmodules", fmt.Sprintf("[submodule %q]\n\tpath = %s\n\turl = %s\n", path, path, url))
	repo.Git("add", "--all")
	repo.Git("update-index", "--add", "--cacheinfo", "160000,"+commit+","+path)
	repo.Git("commit", "--quiet", "--message", "with a submodule")
}

// paths returns the paths of files, separated by spaces.
func paths(files []artifact.File) string {
	var all []string
	for _, file := range files {
		all = append(all, file.Path)
	}
	return strings.Join(all, " ")
}

func content(t *testing.T, files []artifact.File, path string) string {
	t.Helper()
	for _, file := range files {
		if file.Path == path {
			return string(file.Content)
		}
	}
	t.Fatalf("there is no %s in %s", path, paths(files))
	return ""
}
