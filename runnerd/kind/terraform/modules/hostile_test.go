package modules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/filetree"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules/registrytest"
)

// TestSourcesThatAreRefused: what no server has to be asked for.
func TestSourcesThatAreRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxSource)
	for source, want := range map[string]string{
		"../../out":                               "the path leads out of the repository; move that module into",
		"./none":                                  `there is no directory "app/none"`,
		"/srv/module":                             "path of one machine",
		"module":                                  "no source that Terraform knows",
		".":                                       "write ./ or ../",
		"var.source":                              "no source that Terraform knows",
		"hg::https://h/x":                         "not read with hg::",
		"s3::https://s3.amazonaws.com/b/k.zip":    "not read with s3::",
		"file:///srv/x":                           "file:// are not read",
		"oci://h/x":                               "OCI registries",
		"ssh://git@h/x":                           "write git:: in front",
		"gitlab.com/a/b":                          "write git::https://gitlab.com/a/b.git",
		"github.com/a":                            "names no repository of github.com",
		"github.com/a/b/c":                        "names no repository of github.com",
		"git::https://h":                          "names a server and no repository",
		"git::file:///srv/x":                      "not a URL",
		"git::git://h/x":                          "not over git",
		"git::https://user:hunter2@h/x":           "remove it and add a credential",
		"git::https://hunter2@h/x":                "remove it and add a credential",
		"git::ssh://git:hunter2@h/x":              "remove it and add a credential",
		"git::https://h/x?sshkey=hunter2":         "holds an ssh key",
		"git::https://h/x?branch=v1":              "only ref= and depth=",
		"git::https://h/x?ref=--upload-pack=x":    "the ref is none that git knows",
		"git::https://h/x//../y":                  "leads out of the package",
		"git::https://h/../x":                     "..",
		"https://h/x.zip?token=hunter2":           "holds a credential (token=)",
		"https://h/x.zip?X-Amz-Signature=hunter2": "holds a credential",
		"https://hunter2:x@h/x.zip":               "remove it and add a credential",
		"https://h/x.zip//../../y":                "leads out of the package",
		"https://h/x?archive=rar":                 `of the form "rar"`,
		"https://h/x?archive=false":               "archive=false",
		"https://h/x.git":                         "write git:: in front",
		"http://h/x.zip":                          "write https://",
		"acme/net/aws//../x":                      "leads out of the package",
		"h.example/acme/net/AWS":                  "no source that Terraform knows",
		"\u0000\u001b[31m":                        "a character that no address has",
		"https://h/" + long:                       "longer than",
	} {
		text := "\nmodule \"x\" {\n  source = " + strings.ReplaceAll(fmt.Sprintf("%+q", source), `\x1b`, `\u001b`) + "\n}\n"
		text = strings.ReplaceAll(text, `\x00`, `\u0000`)
		_, err := resolve(t, Options{}, nil, "app/main.tf", text)
		fails(t, err, "app/main.tf:2: module \"x\"", want)
		var call *CallError
		if !errors.As(err, &call) || call.Key != "x" || IsTemporary(err) {
			t.Errorf("%s: %v", source, err)
		}
	}
	for name, test := range map[string]struct{ text, want string }{
		"version of a path":  {calling("x", "../y", "1.0.0"), "version is only for modules from a registry"},
		"version of git":     {calling("x", "git::https://h/x", "1.0.0"), "version is only for modules from a registry"},
		"name":               {calling("../x", "../y", ""), "no name of a module"},
		"long name":          {calling(strings.Repeat("x", 300), "../y", ""), "no name of a module"},
		"expression":         {"module \"x\" {\n  source = \"./${var.x}\"\n}\n", "app/main.tf:"},
		"no source":          {"module \"x\" {\n}\n", "has no source"},
		"not Terraform":      {"module {", "app/main.tf:1"},
		"through each other": {calling("x", "../z", ""), "the module calls itself"},
	} {
		_, err := resolve(t, Options{}, nil, "app/main.tf", test.text, "y/main.tf", "", "z/main.tf", calling("x",
			"../app", ""))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := resolve(t, Options{}, nil, "app/readme.md", ""); err == nil || !strings.Contains(err.Error(),
		"no .tf files") {
		t.Error(err)
	}
}

// TestHostileServers: what a registry, a server of archives or a repository must not be able to do.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	many := numbered("f", 1001)
	limits := Limits{Files: 1000, Bytes: 1 << 20, FileBytes: 1 << 19, DownloadBytes: 1 << 20, Calls: 20, Depth: 5,
		Time: time.Minute}
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	archive := func(pairs ...string) func(*registrytest.Server) string {
		return func(s *registrytest.Server) string {
			s.Content("/x.tar.gz", registrytest.TarGz(t, pairs...))
			return s.URL + "/x.tar.gz"
		}
	}
	zeros := strings.Repeat("\x00", 1<<19)
	for name, test := range map[string]struct {
		// serve prepares a server and returns the source.
		serve   func(*registrytest.Server) string
		version string
		want    string
		passing bool
	}{
		"no module": {serve: func(s *registrytest.Server) string { return s.Host + "/acme/none/aws" },
			want: "it has no module acme/none/aws; check the source; a private module also needs a credential"},
		"no version": {serve: func(s *registrytest.Server) string {
			s.PublishModule("acme/x/aws", "1.0.0", "main.tf", "")
			return s.Host + "/acme/x/aws"
		}, version: "~> 2.0",
			want: `has no version of acme/x/aws that "~> 2.0" allows; the newest is 1.0.0; change the constraint`},
		"constraint": {serve: func(s *registrytest.Server) string {
			s.PublishModule("acme/x/aws", "1.0.0", "main.tf", "")
			return s.Host + "/acme/x/aws"
		}, version: "latest", want: `the version constraint "latest" cannot be read`},
		"lists what it does not have": {serve: func(s *registrytest.Server) string {
			s.Module("acme/x/aws", "1.0.0", "")
			return s.Host + "/acme/x/aws"
		}, want: "it lists version 1.0.0 of acme/x/aws and does not have it"},
		"lists no versions": {serve: func(s *registrytest.Server) string {
			s.Module("acme/x/aws", "../../evil", "")
			return s.Host + "/acme/x/aws"
		}, want: "has no released version"},
		"registry that is a web page": {serve: func(s *registrytest.Server) string {
			s.Handle("/.well-known/terraform.json", page("<!DOCTYPE html><html></html>"))
			return s.Host + "/acme/x/aws"
		}, want: "the answer is a web page, not a registry's; check the host"},
		"no registry": {serve: func(s *registrytest.Server) string {
			s.Handle("/.well-known/terraform.json", page(`{"providers.v1": "/"}`))
			return s.Host + "/acme/x/aws"
		}, want: "has no module registry"},
		"service without TLS": {serve: func(s *registrytest.Server) string {
			s.Handle("/.well-known/terraform.json", page(`{"modules.v1": "http://example.com/"}`))
			return s.Host + "/acme/x/aws"
		}, want: "is not an https URL"},
		"service in a private network": {serve: func(s *registrytest.Server) string {
			s.Handle("/.well-known/terraform.json", page(`{"modules.v1": "https://10.1.2.3/"}`))
			return s.Host + "/acme/x/aws"
		}, want: "10.1.2.3 leads to an address in a private network; use a module on the internet, or have the operator"},
		"endless document": {serve: func(s *registrytest.Server) string {
			s.Handle("/.well-known/terraform.json", page(strings.Repeat(" ", maxDiscovery+1)))
			return s.Host + "/acme/x/aws"
		}, want: "more than 262144 bytes"},
		"location on this machine": {serve: func(s *registrytest.Server) string {
			s.Module("acme/x/aws", "1.0.0", "/etc/passwd")
			return s.Host + "/acme/x/aws"
		}, want: "answered 404 Not Found"}, // it is a path of the registry
		"location that is a path": {serve: func(s *registrytest.Server) string {
			s.Module("acme/x/aws", "1.0.0", "file:///etc/passwd")
			return s.Host + "/acme/x/aws"
		}, want: "file:// are not read"},
		"location that is a registry": {serve: func(s *registrytest.Server) string {
			s.Module("acme/x/aws", "1.0.0", "acme/y/aws")
			return s.Host + "/acme/x/aws"
		}, want: "no source that Terraform knows"},
		"location on a metadata address": {serve: func(s *registrytest.Server) string {
			s.Module("acme/x/aws", "1.0.0", "https://169.254.169.254/x.zip?token=hunter2")
			return s.Host + "/acme/x/aws"
		}, want: "none of the internet; name another server"},
		"signed location that fails": {serve: func(s *registrytest.Server) string {
			s.Module("acme/x/aws", "1.0.0", s.URL+"/hunter2/x.zip?token=hunter2")
			s.Handle("/hunter2/x.zip", status(http.StatusForbidden))
			return s.Host + "/acme/x/aws"
		}, want: "answered 403 Forbidden"},
		"private address": {serve: func(*registrytest.Server) string { return "https://10.1.2.3/x.zip" },
			want: "private network"},
		"another loopback": {serve: func(*registrytest.Server) string { return "https://127.0.0.2/x.zip" },
			want: "leads to this machine"},
		"registry there": {serve: func(*registrytest.Server) string { return "10.1.2.3/acme/x/aws" },
			want: "private network"},
		"repository there": {serve: func(*registrytest.Server) string { return "git::https://10.1.2.3/x" },
			want: "private network"},
		"embedded": {serve: func(*registrytest.Server) string { return "https://[::ffff:10.1.2.3]/x.zip" },
			want: "private network"},
		"redirect to a private": {serve: func(s *registrytest.Server) string {
			s.Handle("/x.zip", redirect("https://10.1.2.3/"))
			return s.URL + "/x.zip"
		}, want: "private network"},
		"redirect out of TLS": {serve: func(s *registrytest.Server) string {
			s.Handle("/x.zip", redirect("http://127.0.0.1/"))
			return s.URL + "/x.zip"
		}, want: "redirected from https to http"},
		"redirect in circles": {serve: func(s *registrytest.Server) string {
			s.Handle("/x.zip",
				redirect("/x.zip"))
			return s.URL + "/x.zip"
		}, want: "redirected more than"},
		"missing archive": {serve: func(s *registrytest.Server) string { return s.URL + "/x.zip" }, want: "404"},
		"broken server": {serve: func(s *registrytest.Server) string {
			s.Handle("/x.zip",
				status(503))
			return s.URL + "/x.zip"
		}, want: "503 Service Unavailable; try again later", passing: true},
		"page for an archive": {serve: func(s *registrytest.Server) string {
			s.Handle("/x.zip",
				page("<html>"))
			return s.URL + "/x.zip"
		}, want: "a web page, not an archive"},
		"page without location": {serve: func(s *registrytest.Server) string {
			s.Handle("/x",
				page("<html>"))
			return s.URL + "/x"
		}, want: "neither an archive nor a page"},
		"page that leads to itself": {serve: func(s *registrytest.Server) string {
			s.Handle("/x", page(`<html><head><meta name="terraform-get" content="`+s.URL+`/x"></head>`))
			return s.URL + "/x"
		}, want: "through more than 3 pages"},
		"text for an archive": {serve: func(s *registrytest.Server) string {
			s.Content("/x.zip",
				[]byte("text"))
			return s.URL + "/x.zip"
		}, want: "not a complete zip archive"},
		"half an archive": {serve: func(s *registrytest.Server) string {
			s.Content("/x.tgz", registrytest.TarGz(t, "main.tf", zeros)[:99])
			return s.URL + "/x.tgz"
		}, want: "not a complete tar.gz archive"},
		"empty archive": {serve: archive(), want: "has no files"},
		"many files":    {serve: archive(many...), want: "more than 1000 files; call a module of a smaller package"},
		"bomb":          {serve: archive("main.tf", "", "a", zeros, "b", zeros, "c", zeros), want: "unpacks to more than"},
		"large file":    {serve: archive("main.tf", zeros+"x"), want: `"main.tf" has more than 524288 bytes`},
		"large download": {serve: func(s *registrytest.Server) string {
			s.Content("/x.zip", bytes.Repeat([]byte("x"), 1<<20+1))
			return s.URL + "/x.zip"
		}, want: "more than 1048576 bytes"},
		"way out":            {serve: archive("../main.tf", ""), want: `"../main.tf" is no path inside the package`},
		"way out later":      {serve: archive("x/../../main.tf", ""), want: "is no path inside the package"},
		"absolute":           {serve: archive("/main.tf", ""), want: "is no path inside the package"},
		"twice":              {serve: archive("main.tf", "", "main.tf", ""), want: "twice"},
		"control characters": {serve: archive("\x1b[31m\\x", ""), want: "is no path"},
		"link out": {serve: archive("main.tf", "", "x", "-> ../../y"),
			want: "link x to \"../../y\" leads out of the tree; fix the package"},
		"absolute link": {serve: archive("main.tf", "", "x", "-> /etc/passwd"),
			want: "must have a relative, clean target"},
		"link through a link": {serve: archive("main.tf", "", "a/b/x", "", "l", "-> a/b", "m", "-> l/../../y"),
			want: "must have a relative, clean target"},
		"no such directory": {serve: func(s *registrytest.Server) string {
			return archive("main.tf",
				"")(s) + "//none"
		}, want: `has no directory "none"`},
		"several directories": {serve: func(s *registrytest.Server) string {
			return archive("a/main.tf", "",
				"b/main.tf", "")(s) + "//*"
		}, want: "2 directories of the package match"},
		"no configuration": {serve: archive("README.md", ""), want: "no .tf files"},
		"call out of a package": {serve: archive("main.tf", calling("y", "../y", "")),
			want: "main.tf:1 of module x: module \"y\" (../y): the path leads out of the package"},
		"bad file in a package": {serve: archive("main.tf", "module {"), want: "the module cannot be read: main.tf:1"},
		"private in a package": {serve: archive("main.tf", calling("y", "https://10.1.2.3/x.zip", "")),
			want: "main.tf:1 of module x: module \"y\" (https://10.1.2.3/x.zip): " +
				"archive from https://10.1.2.3: its server 10.1.2.3 leads"},
		"calls itself": {serve: func(s *registrytest.Server) string {
			return archive("main.tf", calling("y", s.URL+"/x.tar.gz", ""))(s)
		}, want: "the module calls itself"},
		"calls without end": {serve: func(s *registrytest.Server) string {
			for i := range 10 {
				s.Content(fmt.Sprintf("/x%d.tar.gz", i), registrytest.TarGz(t, "main.tf", calling("y",
					fmt.Sprintf("%s/x%d.tar.gz", s.URL, i+1), "")))
			}
			return s.URL + "/x0.tar.gz"
		}, want: "called through more than 5 others"},
		"many calls": {serve: func(s *registrytest.Server) string {
			var all strings.Builder
			for i := range 30 {
				all.WriteString(calling(fmt.Sprintf("y%d", i), "./y", ""))
			}
			return archive("main.tf", all.String(), "y/main.tf", "")(s)
		}, want: "more than 20 modules are called"},
		"all together": {serve: func(s *registrytest.Server) string {
			s.Content("/a.tar.gz", registrytest.TarGz(t, "main.tf", "", "data", zeros[1:]))
			var all strings.Builder
			for i := range 5 {
				all.WriteString(calling(fmt.Sprintf("y%d", i), s.URL+"/a.tar.gz", ""))
			}
			return archive("main.tf", all.String())(s)
		}, want: "all modules together have more than 1048576 bytes"},
		"checksum": {serve: func(s *registrytest.Server) string {
			return archive("main.tf", "")(s) + "?checksum=sha256:" + strings.Repeat("0", 64)
		}, want: "the source requires"},
		"no repository": {serve: func(s *registrytest.Server) string { return "git::" + s.URL + "/none.git" },
			want: "no such repository"},
		"repository that is a web page": {serve: func(s *registrytest.Server) string {
			s.Handle("/page.git/", page("<html>"))
			return "git::" + s.URL + "/page.git"
		}, want: "repository https://127.0.0.1"},
		"private repository": {serve: func(s *registrytest.Server) string {
			repo, at := s.Repository("p")
			repo.Write("main.tf", "").Commit("x")
			s.Require("/git/p.git", "hunter2")
			return "git::" + at
		}, want: "requires a login, or has no such repository; check the address; a private repository needs a credential"},
		"empty repository": {serve: func(s *registrytest.Server) string {
			_, at := s.Repository("empty")
			return "git::" + at
		}, want: "the repository is empty; push the module"},
		"no such tag": {serve: func(s *registrytest.Server) string {
			repo, at := s.Repository("t")
			repo.Write("main.tf", "").Commit("x")
			repo.Git("tag", "v1.0.0")
			return "git::" + at + "?ref=v1.0.1"
		}, want: `no branch or tag "v1.0.1"; did you mean "v1.0.0"?`},
		"short commit": {serve: func(s *registrytest.Server) string {
			repo, at := s.Repository("s")
			return "git::" + at + "?ref=" + repo.Write("main.tf", "").Commit("x")[:8]
		}, want: "write all 40 digits of the commit"},
		"no such commit": {serve: func(s *registrytest.Server) string {
			repo, at := s.Repository("c")
			repo.Write("main.tf", "").Commit("x")
			return "git::" + at + "?ref=" + strings.Repeat("1", 40)
		}, want: "no branch or tag leads to it"},
		"link out of a repository": {serve: func(s *registrytest.Server) string {
			repo, at := s.Repository("l")
			repo.Write("main.tf", "").Symlink("../../../etc/passwd", "x").Commit("x")
			return "git::" + at
		}, want: "leads out of the tree; fix the repository"},
		"many files in a repository": {serve: func(s *registrytest.Server) string {
			repo, at := s.Repository("m")
			repo.Write(many...).Commit("x")
			return "git::" + at
		}, want: "more than 1000 files; call a module of a smaller repository"},
		"large file in a repository": {serve: func(s *registrytest.Server) string {
			repo, at := s.Repository("b")
			repo.Write("main.tf", zeros+"x").Commit("x")
			return "git::" + at
		}, want: "the repository has a file of more than"},
		"tree without end": {serve: func(s *registrytest.Server) string {
			repo, at := s.Repository("tree")
			repo.Write("main.tf", "").Commit("x")
			tree := makeTree(t, repo, "")
			for range 40 {
				tree = makeTree(t, repo, "040000 tree "+tree+"\ta\n040000 tree "+tree+"\tb\n")
			}
			repo.Git("tag", "big", repo.Git("commit-tree", "-m", "x", tree))
			return "git::" + at + "?ref=big"
		}, want: "the repository has more than 10000 directories"},
		"deep tree": {serve: func(s *registrytest.Server) string {
			repo, at := s.Repository("deep")
			repo.Write(strings.Repeat("a/", 150)+"main.tf", "").Commit("x")
			return "git::" + at
		}, want: "directories more than 100 deep"},
		"packages in one step": {serve: func(s *registrytest.Server) string {
			var all strings.Builder
			for i := range 9 {
				s.Content(fmt.Sprintf("/p%d.tar.gz", i), registrytest.TarGz(t, "main.tf", fmt.Sprint("# ", i), "a", zeros[9:]))
				all.WriteString(calling(fmt.Sprintf("y%d", i), fmt.Sprintf("%s/p%d.tar.gz", s.URL, i), ""))
			}
			return archive("main.tf", all.String())(s)
		}, want: "all modules together have more than 1048576 bytes"},
		"zip with many entries": {serve: func(s *registrytest.Server) string {
			s.Content("/x.zip", registrytest.Zip(t, append(slices.Clone(many), numbered("g", 4000)...)...))
			return s.URL + "/x.zip"
		}, want: "more than 1000 files"},
		"private submodule": {serve: func(s *registrytest.Server) string {
			inner, innerURL := s.Repository("inner")
			inner.Write("main.tf", "").Commit("x")
			s.Require("/git/inner.git", "hunter2")
			outer, at := s.Repository("outer")
			withSubmodule(outer, "lib", innerURL, inner.Head())
			return "git::" + at
		}, want: `its submodule "lib": repository https://127.0.0.1`},
		"submodule in a private network": {serve: func(s *registrytest.Server) string {
			outer, at := s.Repository("outer")
			withSubmodule(outer, "lib", "https://10.1.2.3/x.git", strings.Repeat("1", 40))
			return "git::" + at
		}, want: "private network"},
		"submodule on this machine": {serve: func(s *registrytest.Server) string {
			outer, at := s.Repository("outer")
			withSubmodule(outer, "lib", "/srv/x.git", strings.Repeat("1", 40))
			return "git::" + at
		}, want: `its submodule "lib": the source names no git server`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := registrytest.New(t)
			options := trusting(server)
			options.Limits = limits
			_, err := resolve(t, options, nil, "app/main.tf", "# one\n"+calling("x", test.serve(server), test.version))
			fails(t, err, test.want)
			var call *CallError
			if !errors.As(err, &call) || IsTemporary(err) != test.passing {
				t.Errorf("temporary %t: %v", IsTemporary(err), err)
			}
			if call.Caller == "" && !strings.HasPrefix(err.Error(), "app/main.tf:2: module \"x\"") {
				t.Errorf("no position: %v", err)
			}
		})
	}
}

// TestSlowServer: the time limit ends a resolution, and the error says so.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	server := registrytest.New(t)
	server.Handle("/x.zip", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	options := trusting(server)
	options.Limits.Time = time.Millisecond
	_, err := resolve(t, options, nil, "app/main.tf", calling("x", server.URL+"/x.zip", ""))
	fails(t, err, "app/main.tf:1", "took longer than 1ms; build again later")
	if !IsTemporary(err) {
		t.Error("it may pass")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tree := filetree.New(filesOf("app/main.tf", calling("x", server.URL+"/x.zip", "")))
	if _, err := New(trusting(server)).Resolve(ctx, tree, "app", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestCredentialsStayWhereTheyBelong: they are sent to the address that they are for only.
func TestCredentialsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	server, other := registrytest.New(t), registrytest.New(t)
	server.PublishModule("acme/net/aws", "1.0.0", "main.tf", "")
	repo, at := server.Repository("private")
	repo.Write("main.tf", "").Commit("x")
	for _, path := range []string{"/.well-known/", "/v1/", "/git/"} {
		server.Require(path, "hunter2")
	}
	seen := make(chan string, 10)
	other.Handle("/x.zip", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization")
		_, _ = w.Write(registrytest.Zip(t, "main.tf", ""))
	}))
	server.Handle("/files/x.zip", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization")
		http.Redirect(w, r, other.URL+"/x.zip", http.StatusFound)
	}))
	server.Roots.AddCert(other.Certificate())
	options := trusting(server)
	options.Cache = t.TempDir()
	options.Credentials = credentials(map[string]Credential{
		server.URL + "/files": Basic("", seal.NewSecret([]byte("hunter2"))),
		at:                    Basic("ada", seal.NewSecret([]byte("hunter2"))),
	})
	lookup := options.Credentials
	options.Credentials = func(ctx context.Context, at *url.URL) (Credential, error) {
		if at.Path == "" {
			return Bearer(seal.NewSecret([]byte("hunter2"))), nil
		}
		return lookup(ctx, at)
	}
	result := mustResolve(t, options, nil, "app/main.tf", calling("net", server.Host+"/acme/net/aws", "")+
		calling("git", "git::"+at, "")+calling("zip", server.URL+"/files/x.zip", ""))
	if first, second := <-seen, <-seen; !strings.HasPrefix(first, "Basic ") || second != "" {
		t.Errorf("sent %q, and after the redirect %q", first, second)
	}
	text := fmt.Sprintf("%+v %+v %v", result.Resolution, options, paths(result.Files))
	for _, file := range result.Files {
		text += string(file.Content)
	}
	if strings.Contains(text, "hunter2") {
		t.Error("the credential is shown")
	}
	credential := Bearer(seal.NewSecret([]byte("hunter2")))
	encoded, err := credential.MarshalText()
	if all := fmt.Sprintf("%v %+v %#v %s %q %s %v", credential, credential, credential, credential,
		[]Credential{credential},
		encoded, err); strings.Contains(all, "hunter2") || strings.Contains(all, "104 117") {
		t.Error(all)
	}
}
