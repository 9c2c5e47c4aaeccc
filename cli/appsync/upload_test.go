package appsync

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/configfetch"
)

// TestIgnoredFilesStayHere checks that a control plane that claims an app has no repository does not get files that git
// ignores: neither by a sync nor by a dry run. A directory with nothing else is not uploaded.
func TestIgnoredFilesStayHere(t *testing.T) {
	for _, args := range [][]string{{"--no-wait"}, {"--dry-run"}} {
		dir, _ := valid(t)
		write(t, dir, ".gitignore", ".env\n*.tfvars\n")
		for file, text := range map[string]string{".env": "TOKEN=1", "prod.tfvars": "key = 1", "new.toml.txt": "new",
			"modules/.terraform/provider": "x"} {
			write(t, dir, "apps/shop/"+file, text)
		}
		p := &plane{app: api.App{ID: "app_1", Name: "shop"}}
		if err := execute(t, p.start(t), append(args, dir+"/apps/shop")...); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"metadata.toml", "components/web.toml", "new.toml.txt"} {
			if _, sent := p.files[file]; !sent {
				t.Errorf("%v: %s is not sent", args, file)
			}
		}
		for _, file := range []string{".env", "prod.tfvars", "modules/.terraform/provider"} {
			if _, sent := p.files[file]; sent {
				t.Errorf("%v: %s is sent", args, file)
			}
		}
		runGit(t, dir, "rm", "-rq", "--cached", "apps")
		write(t, dir, ".gitignore", "apps\n")
		p.files = nil
		if err := execute(t, p.start(t), append(args, dir+"/apps/shop")...); exitcode.CodeOf(err) != exitcode.Usage ||
			!strings.Contains(err.Error(), "git ignores all files") || p.files != nil {
			t.Errorf("%v: ended with %v, sent %v", args, err, p.files)
		}
	}
}

// TestFilesOfTheUserStayHere checks that file:// in a config reaches only the files that an upload may contain,
// and those below the directories of --allow-file. Otherwise nothing is sent.
func TestFilesOfTheUserStayHere(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, home, "config/token", "secret")
	for name, c := range map[string]struct {
		file    string // relative to the work tree, or absolute
		plain   bool   // the directory is in no work tree
		allowed []string
		sent    bool
	}{
		"outside":               {file: home + "/config/token"},
		"outside of a plain":    {file: home + "/config/token", plain: true},
		"beside a plain":        {file: "README.md", plain: true},
		"in a plain":            {file: "apps/shop/about.md", plain: true, sent: true},
		"in the directory":      {file: "apps/shop/about.md", sent: true},
		"in the work tree":      {file: "README.md", sent: true},
		"ignored":               {file: ".env"},
		"of git":                {file: ".git/config"},
		"a link out":            {file: "apps/shop/link"},
		"allowed":               {file: home + "/config/token", allowed: []string{home + "/else", home}, sent: true},
		"below another":         {file: home + "/config/token", allowed: []string{home + "/conf"}},
		"allowed, but not real": {file: home + "/config/token", allowed: []string{home + "/none"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := valid(t)
			write(t, dir, ".gitignore", ".env\n")
			write(t, dir, ".env", "TOKEN=1")
			write(t, dir, "apps/shop/about.md", "about")
			for _, sub := range []string{"else", "conf"} {
				write(t, home, sub+"/x", "")
			}
			if err := os.Symlink(home+"/config/token", dir+"/apps/shop/link"); err != nil {
				t.Fatal(err)
			}
			if c.plain {
				if err := os.RemoveAll(dir + "/.git"); err != nil {
					t.Fatal(err)
				}
			}
			if !filepath.IsAbs(c.file) {
				c.file = filepath.Join(dir, c.file)
			}
			reference := "file://" + c.file
			write(t, dir, "apps/shop/metadata.toml", "version = \"v2\"\nreadme = \""+reference+"\"\n")
			write(t, dir, "apps/shop/sandbox.toml", "terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \"acme/x\"\n"+
				"directory = \".\"\nbranch = \"main\"\n")
			write(t, dir, "apps/shop/components/web.toml", "type = \"terraform_module\"\nname = \"web\"\n"+
				"terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \"acme/x\"\ndirectory = \".\"\nbranch = \"main\"\n")
			for _, mode := range []string{"--no-wait", "--dry-run"} {
				p := &plane{app: api.App{ID: "app_1", Name: "shop"}}
				args := []string{mode, dir + "/apps/shop"}
				for _, a := range c.allowed {
					args = append(args, "--allow-file", a)
				}
				e := p.start(t)
				err := execute(t, e, args...)
				_, sent := p.files[configfetch.UploadPath(reference)]
				if c.sent {
					if err != nil || !sent {
						t.Errorf("%s: %v, sent %v\n%v", mode, err, p.files, e.Console.Err)
					}
					continue
				}
				if exitcode.CodeOf(err) != exitcode.Usage || !strings.Contains(err.Error(), "--allow-file") || p.files != nil {
					t.Errorf("%s: ended with %v, sent %v\n%v", mode, err, p.files, e.Console.Err)
				}
			}
		})
	}
}
